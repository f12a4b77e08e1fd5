import { isGuardHook } from "@budgie/core/agents";
import { escapeForTerminal } from "@budgie/core/text";
import type { AgentFacts, Harnesses } from "./agent-facts.ts";
import { joinNames } from "./join-names.ts";
import type { Style } from "../../terminal/style.ts";
import { wrapText } from "../../terminal/wrap-text.ts";

type Output = { readonly style: Style; readonly columns: number | undefined };

/** Returns the lines about one file, wrapped to the width of a terminal. */
export function agentLines(facts: AgentFacts, { columns, style }: Output): string {
  const { agent, file, kind, problem } = facts;
  const title = `${style(["bold", COLOURS[kind]], escapeForTerminal(file))}  ${KINDS[kind]}`;
  const rows = [
    ...(problem === undefined ? [] : [["problem", problem] as const]),
    ...(agent === undefined ? [] : listRows(agent)),
  ];
  const lines = rows.map(([what, text]) => {
    const wrapped = wrapText(escapeForTerminal(text), { columns, indent: INDENT });
    return `  ${style("dim", what.padEnd(INDENT - 2))}${wrapped}`;
  });
  return [title, ...lines, ""].join("\n");
}

const INDENT = 11;

const KINDS = {
  agent: "an agent for budgie",
  other: "not for budgie",
  prompt: "a prompt, without frontmatter",
  unusable: "cannot be used",
} as const;

const COLOURS = { agent: "green", other: "yellow", prompt: "yellow", unusable: "red" } as const;

type Agent = NonNullable<AgentFacts["agent"]>;

function listRows(agent: Agent): readonly (readonly [what: string, text: string])[] {
  const { allowedTools, format, hooks, model, name, notes, tool, tools } = agent;
  return [
    ["agent", `"${name}", in ${format === "json" ? "JSON" : "Markdown"}`],
    ["tool", tool ?? (name === "orchestrator" ? NO_ORCHESTRATOR : NO_MARK)],
    ["tools", tools === undefined ? "the file names none, so Kiro chooses" : tools.join(", ") || "none"],
    ["allowed", `${allowedTools.join(", ") || "none"} without asking`],
    [
      "answer",
      agent.writesFiles ? "in a file" : "from its output, since it may not read and write files without asking",
    ],
    ["servers", formatServers(agent)],
    ["model", model ?? "none, so it is budgie's"],
    ["hooks", hooks.length === 0 ? "none" : joinNames(hooks.map(formatHook))],
    ["runs on", `V2 ${formatV2(agent.harnesses.v2)}; V3 ${formatV3(agent.harnesses.v3)}`],
    ...notes.map((note) => ["note", note] as const),
  ];
}

const NO_MARK = 'none: its description does not begin with "sub-agent:"';
const NO_ORCHESTRATOR = "none: the orchestrator is the caller";

function formatServers({ includesMcpJson, servers }: Agent): string {
  const found = [
    ...(servers.length === 0 ? [] : [joinNames(servers)]),
    ...(includesMcpJson ? ["those of mcp.json"] : []),
  ];
  return found.length === 0 ? "none" : `${found.join(", and ")}; "budgie mcp ls" says which are allowed`;
}

const LONGEST_COMMAND = 40;

function formatHook(hook: Agent["hooks"][number]): string {
  const { command, trigger } = hook;
  const shown = command.length > LONGEST_COMMAND ? `${command.slice(0, LONGEST_COMMAND)}…` : command;
  return `${isGuardHook(hook) ? "guard" : trigger} ${JSON.stringify(shown)}`;
}

function formatV2(form: Harnesses["v2"]): string {
  if (typeof form !== "string") return `cannot run it: ${form.obstacle}`;
  return form === "file" ? "from this file" : "from a copy in its JSON";
}

function formatV3(form: Harnesses["v3"]): string {
  return typeof form === "string" ? "with --kiro-harness v3" : `cannot run it: ${form.obstacle}`;
}
