import { listKiroTools, splitWords, type AgentDefinition, type ParsedAgentFile } from "@budgie/core/agents";
import { joinNames } from "./join-names.ts";

/** Returns a sentence for each tool or rule that Kiro, or one of its harnesses, lacks or reads otherwise. */
export function findToolNotes(parsed: ParsedAgentFile): readonly string[] {
  const { definition, fields } = parsed;
  return [
    ...(definition.tools?.length === 0 ? ["It lists no tools."] : []),
    ...findTranslations([...splitWords(fields["tools"]), ...splitWords(fields["allowedTools"])]),
    ...findUnknown(definition),
    ...findRuleNotes(definition),
  ];
}

function findTranslations(written: readonly string[]): readonly string[] {
  const tools = [...new Set(written)];
  const missing = tools.filter((tool) => listKiroTools([tool], { partly: true }).length === 0);
  const partial = tools.filter(
    (tool) => !missing.includes(tool) && listKiroTools([tool], { partly: false }).length === 0,
  );
  const changed = tools.filter((tool) => {
    const [kiros] = listKiroTools([tool], { partly: true });
    return kiros !== undefined && kiros !== tool.toLowerCase();
  });
  const pairs = changed.map((tool) => `${tool} is ${listKiroTools([tool], { partly: true })[0] ?? ""}`);
  return [
    ...(pairs.length === 0 ? [] : [`In Kiro's words, ${joinNames(pairs)}.`]),
    ...(partial.length === 0
      ? []
      : [`No list of tools can allow only some uses, so ${joinNames(partial)} is not allowed without asking.`]),
    ...(missing.length === 0 ? [] : [`Kiro has no ${joinNames(missing)}.`]),
  ];
}

// The tags, the tools of both harnesses, and older names.
const KNOWN: ReadonlySet<string> = new Set(
  `read write shell web subagent knowledge code grep glob aws delegate introspect report thinking todo todo_list fs_read fs_write
   execute_bash use_aws use_subagent web_fetch web_search read_file read_files list_directory file_search grep_search str_replace
   delete_file control_bash_process`.split(/\s+/),
);

function findUnknown({ allowedTools = [], mcpServers, tools = [], ...rest }: AgentDefinition): readonly string[] {
  const named = [...new Set([...tools, ...allowedTools])];
  const unknown = named.filter((tool) => !KNOWN.has(tool) && !/[@*?]/.test(tool));
  const servers = new Set(Object.keys(Object(mcpServers)));
  const includes = rest["includeMcpJson"] === true || rest["useLegacyMcpJson"] === true;
  const missing = named.filter((tool) => {
    const server = /^@(?<name>[^/*?]+)/.exec(tool)?.groups?.["name"];
    return server !== undefined && !["builtin", "mcp"].includes(server) && !servers.has(server);
  });
  return [
    ...(unknown.length === 0 ? [] : [`Kiro may not know the tools ${joinNames(unknown)}.`]),
    ...(includes || missing.length === 0
      ? []
      : [`It has no server for ${joinNames(missing)}, and no "includeMcpJson".`]),
  ];
}

const CAPABILITIES: ReadonlySet<string> = new Set(
  "all filesystem fs_read fs_write mcp shell subagent web_fetch web_search".split(" "),
);

function findRuleNotes({ permissions }: AgentDefinition): readonly string[] {
  const rules = permissions?.rules ?? [];
  const limited = rules.filter(({ exclude, match }) => [exclude, match].some((patterns) => isFilled(patterns)));
  const unknown = rules.filter(({ capability }) => !CAPABILITIES.has(capability));
  const listCapabilities = (some: typeof rules): string =>
    joinNames([...new Set(some.map(({ capability }) => capability))]);
  return [
    ...(limited.length === 0
      ? []
      : [
          `Kiro's V2 harness has no rules for some uses: it allows none of ${listCapabilities(limited)} without asking, and all with ` +
            `--trust-all-tools.`,
        ]),
    ...(unknown.length === 0 ? [] : [`Kiro may not know the capabilities ${listCapabilities(unknown)}.`]),
  ];
}

function isFilled(value: unknown): boolean {
  return value !== undefined && value !== null && Object.keys(Object(value)).length > 0;
}
