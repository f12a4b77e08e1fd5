import { isRecord } from "../bounds/is-record.ts";
import { dirname } from "node:path";
import { z } from "zod";
import { BudgieError } from "../errors.ts";
import { JSON_BOUNDS } from "../bounds/json-bounds.ts";
import { parseJson } from "../text/parse-json.ts";
import { AGENT_NAME } from "./agent.ts";
import { listKiroTools } from "./list-kiro-tools.ts";
import { isSyntaxError, parseFrontmatter, splitFrontmatter } from "./frontmatter.ts";
import { parseLenientFields } from "./parse-lenient-fields.ts";
import { reloadFile } from "./reload-file.ts";

const text = z.string().nullish();

/** Returns the texts of a list; or the words of a text, split at commas and blanks, but not in the parentheses of `Bash(git diff, git log)`. */
export function splitWords(value: unknown): string[] {
  if (typeof value === "string") return value.match(/[^\s,()]+(?:\([^()]*\))?/g) ?? [];
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

const names = z
  .union(
    [
      z.string().transform(splitWords),
      z.array(z.string()),
      // A key without a value: nothing is listed.
      z.null().transform((): string[] => []),
    ],
    "must be a list of texts, or a text with commas",
  )
  .optional();

const rule = z.looseObject({
  capability: z.string("must name a capability, such as fs_write"),
  match: z.unknown().optional(),
  exclude: z.unknown().optional(),
  effect: z.enum(["allow", "ask", "deny"], "must be allow, ask or deny"),
});

const definitionSchema = z.looseObject({
  name: z.string().regex(AGENT_NAME, "must not be empty, nor have parts that begin with a blank, a dash or a dot"),
  description: text,
  prompt: text,
  tools: names,
  allowedTools: names,
  // Kiro takes no bare list, and rules that it does not understand protect nothing.
  permissions: z
    .looseObject({ rules: z.array(rule, 'must be a list of "rules"') }, 'must hold a list of "rules"')
    .nullish(),
  // Servers by their names, as files for Claude Code have them, are the caller's.
  mcpServers: z
    .union(
      [z.record(z.string(), z.unknown()), z.array(z.unknown()), z.string().transform(splitWords), z.null()],
      "must be a map of servers",
    )
    .optional(),
  resources: z.unknown().optional(),
  hooks: z.unknown().optional(),
  model: z.unknown().optional(),
});

/** An agent in the shape of Kiro's JSON agent file, whatever its own file looks like. Keys that budgie does not read are kept. */
export type AgentDefinition = z.infer<typeof definitionSchema>;

/** An agent file, understood. */
export type ParsedAgentFile = {
  readonly format: "json" | "markdown";
  readonly definition: AgentDefinition;
  /** The fields as they are written: of a JSON file all of them, of a Markdown file its frontmatter */
  readonly fields: Readonly<Record<string, unknown>>;
  /** True if the frontmatter is no YAML, and was read in the way of programs that do not mind */
  readonly isLenient: boolean;
};

/** The place of an agent file: its path, and the path below the agents' folder without the extension, such as `team/planner`. */
export type AgentPlace = { readonly file: string; readonly path: string };

/**
 * Parses an agent file of either format, chosen by its extension. Returns `undefined` for Markdown without frontmatter, which is a prompt.
 * Throws an error that says in one sentence why the content is no agent.
 */
export function parseAgentFile(content: string, { file, path }: AgentPlace): ParsedAgentFile | undefined {
  const read = file.endsWith(".md") ? readMarkdown(content) : readJson(content);
  if (read === undefined) return undefined;
  refuseDeep(read.fields, MOST_LEVELS);
  const { body, fields, format } = read;
  const known = format === "json" ? fields : toJsons(fields);
  const given = { ...known, name: chooseAgentName(known["name"] ?? undefined, path) };
  const parsed = definitionSchema.safeParse(body === "" ? given : { ...given, prompt: body });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Error(`${issue?.path.join(".") || "it"}: ${issue?.message}`);
  }
  return { format, fields, definition: toKiros(parsed.data), isLenient: read.isLenient };
}

/** An agent by its name and its file. */
type AgentOfFile = { readonly file: string; readonly name: string };

/** Reads an agent's definition as it is now, as {@link readAgentFile} does. */
export function readAgentDefinition(agent: AgentOfFile): AgentDefinition {
  return readAgentFile(agent).definition;
}

/** Reads an agent's file as it is now, of at most 1 MiB. Throws `AGENT_NOT_FOUND` if it cannot be used. */
export function readAgentFile({ file, name }: AgentOfFile): ParsedAgentFile {
  const { problem = "it has no agent", value } = reloadFile(file, (text) => parseAgentFile(text, { file, path: name }));
  if (value !== undefined) return { ...value, definition: { ...value.definition, name } };
  throw new BudgieError("AGENT_NOT_FOUND", `The agent file "${file}" cannot be used: ${problem}. Repair it.`);
}

/** Returns the MCP servers that an agent defines. Names alone define none. */
export function listServerEntries({ mcpServers }: AgentDefinition): Readonly<Record<string, unknown>> {
  return Array.isArray(mcpServers) ? {} : (mcpServers ?? {});
}

type Read = Omit<ParsedAgentFile, "definition"> & {
  /** Empty in JSON */
  readonly body: string;
};

function readJson(content: string): Read {
  const fields = parseJson(content, JSON_BOUNDS);
  if (!isRecord(fields)) throw new Error("it is JSON, but not an object");
  return { format: "json", fields, body: "", isLenient: false };
}

// A prompt may begin with a rule.
const HAS_FIELDS = /^\uFEFF?---[ \t]*\r?\n(?:[ \t]*(?:#.*)?\r?\n)*(?:---|\{|["']?[\w-]+["']?[ \t]*:)/;

function readMarkdown(content: string): Read | undefined {
  if (!HAS_FIELDS.test(content)) return undefined;
  try {
    const { body, yaml } = splitFrontmatter(content) ?? { body: content, yaml: "" };
    return { format: "markdown", body, ...readFields(yaml) };
  } catch (cause) {
    throw new Error(`its frontmatter ${(cause as Error).message}`, { cause });
  }
}

function readFields(yaml: string): Pick<Read, "fields" | "isLenient"> {
  try {
    const fields = parseFrontmatter(yaml) ?? {};
    if (!isRecord(fields)) throw new Error("is no list of keys and values");
    return { fields, isLenient: false };
  } catch (error) {
    const fields = isSyntaxError(error) ? parseLenientFields(yaml) : undefined;
    if (fields === undefined) throw error;
    return { fields, isLenient: true };
  }
}

// Whatever writes a definition, walks it recursively.
const MOST_LEVELS = 64;

function refuseDeep(value: unknown, levels: number): void {
  if (typeof value !== "object" || value === null) return;
  if (levels === 0) throw new Error("it is nested too deeply");
  for (const child of Object.values(value)) refuseDeep(child, levels - 1);
}

/** Returns fields as JSON would have them: YAML takes some texts for numbers, and a key without a value for one with the value null. */
function toJsons(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const entries = Object.entries(fields).map(([key, value]) => {
    const isText = (key === "name" || key === "description") && ["boolean", "number"].includes(typeof value);
    return [key, isText ? String(value) : value] as const;
  });
  // No tools are less than the tools that Kiro gives by itself.
  return Object.fromEntries(entries.filter(([key, value]) => value !== null || /^(?:allowedT|t)ools$/.test(key)));
}

/** Returns an agent's name: its path, whose last part a plain `name` in its file replaces. */
function chooseAgentName(name: unknown, path: string): unknown {
  if (name === undefined) return path;
  if (typeof name !== "string" || name === "" || name.includes("/")) return name;
  const folder = dirname(path);
  return folder === "." ? name : `${folder}/${name}`;
}

/** Returns the definition in Kiro's own words. */
function toKiros({ model, ...definition }: AgentDefinition): AgentDefinition {
  const { allowedTools, tools } = definition;
  return {
    ...definition,
    ...(tools === undefined ? {} : { tools: [...listKiroTools(tools, { partly: true })] }),
    ...(allowedTools === undefined ? {} : { allowedTools: [...listKiroTools(allowedTools, { partly: false })] }),
    // The caller's model, in files for Claude Code: for an agent of budgie, the configured one.
    ...(model === undefined || model === "inherit" ? {} : { model }),
  };
}
