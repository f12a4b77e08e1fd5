import { parseScript, type Directive } from "../kiro-cli/script/script.ts";

/** A request to the model, independent of its API. */
export type Conversation = {
  /** The user messages, oldest first; some are the agent program's own context */
  readonly prompts: readonly string[];
  /** The texts of the tools' results since the last prompt */
  readonly toolResults: readonly string[];
  readonly tools: readonly Tool[];
};

type Tool = { readonly name: string; readonly namespace?: string | undefined; readonly parameters: Schema };

/** The part of JSON Schema that describes tools. */
export type Schema = {
  readonly properties?: Readonly<Record<string, unknown>>;
};

export type Reply =
  | Answered
  /** No answer at all */
  | { readonly kind: "hang" }
  | { readonly kind: "fail"; readonly status: number };

/** An answer that a model streams. */
export type Answered = { readonly kind: "text"; readonly text: string } | Call;

type Call = Pick<Tool, "name" | "namespace"> & {
  readonly kind: "call";
  readonly arguments: Readonly<Record<string, unknown>>;
};

/**
 * Returns the reply by the last script in a prompt: one call for each `[[write PATH: TEXT]]`, `[[run: COMMAND]]` and
 * `[[tool @SERVER/TOOL: JSON]]`, then all `[[say: TEXT]]`. `[[results]]` says what the tools returned, `[[recall]]` the words of earlier
 * prompts that begin with "token-". `[[hang]]` never answers, and `[[fail: STATUS]]` fails. A missing tool ends the
 * script: the reply names it after the results of the tools before it.
 */
export function toReply(conversation: Conversation): Reply {
  const { prompts } = conversation;
  const toolResults = withoutSearches(conversation);
  const script = prompts.map((prompt) => parseScript(prompt).directives).findLast(({ length }) => length > 0) ?? [];
  const next = script.filter(({ name }) => name in CALLS)[toolResults.length];
  if (next !== undefined) return CALLS[next.name as keyof typeof CALLS](next, conversation);
  if (script.some(({ name }) => name === "hang")) return { kind: "hang" };
  const failure = script.find(({ name }) => name === "fail");
  if (failure !== undefined) return { kind: "fail", status: Number(failure.text) };
  const recalled = prompts.join(" ").match(/token-\w+/g) ?? [];
  const said: Readonly<Record<string, readonly string[]>> = { recall: recalled, results: toolResults };
  const words = script.flatMap(({ name, text }) => (name === "say" ? [text] : (said[name] ?? [])));
  return { kind: "text", text: words.join("\n") };
}

const CALLS = {
  write: toWrite,
  run: ({ text }: Directive, { tools }: Conversation) => toRun(text, tools),
  tool: toTool,
};

// The results of Qwen Code's search for tools of MCP servers. Its requests list those tools only afterwards.
const FOUND = /^(<functions>|Not found: )/;

function withoutSearches({ toolResults }: Conversation): readonly string[] {
  return toolResults.filter((result) => !FOUND.test(result));
}

/** Returns a call of a tool of an MCP server, or of the search for it. Each program joins the names in its own way. */
function toTool({ argument, text }: Directive, conversation: Conversation): Reply {
  const { toolResults, tools } = conversation;
  const tool = tools.find(({ name, namespace = "" }) => toLetters(namespace + name).endsWith(toLetters(argument)));
  const search = tools.find(({ name }) => name === "tool_search");
  if (tool === undefined && search !== undefined && !toolResults.at(-1)?.startsWith("Not found")) {
    const query = `select:${argument.replace("@", "mcp__").replace("/", "__")}`;
    return { kind: "call", name: search.name, arguments: { query } };
  }
  if (tool === undefined) {
    return { kind: "text", text: [...withoutSearches(conversation), `I have no tool ${argument}.`].join("\n") };
  }
  return {
    kind: "call",
    name: tool.name,
    namespace: tool.namespace,
    arguments: JSON.parse(text || "{}") as Call["arguments"],
  };
}

function toLetters(name: string): string {
  return name.replace(/[^a-z0-9]/gi, "");
}

const PATH_NAMES = ["file_path", "filePath", "path"];
const COMMAND_NAMES = ["cmd", "command"];

/** Returns a call that writes a file. Tool names differ between programs, so the tool is recognized by its parameters. */
function toWrite({ argument, text }: Directive, { tools }: Conversation): Reply {
  for (const { name, parameters } of tools) {
    const path = findParameter(parameters, PATH_NAMES);
    if (path !== undefined && findParameter(parameters, ["content"]) !== undefined) {
      return { kind: "call", name, arguments: { [path]: argument, content: text } };
    }
  }
  return toRun(`printf %s ${quote(text)} >${quote(argument)}`, tools);
}

/** Returns a call that runs a command. */
function toRun(line: string, tools: readonly Tool[]): Reply {
  for (const { name, parameters } of tools) {
    const command = findParameter(parameters, COMMAND_NAMES);
    if (command === undefined) continue;
    // Qwen Code refuses a call without this parameter.
    const more = findParameter(parameters, ["is_background"]) === undefined ? {} : { is_background: false };
    return { kind: "call", name, arguments: { [command]: line, ...more } };
  }
  return { kind: "text", text: `None of my tools can run a command: ${tools.map(({ name }) => name).join(", ")}` };
}

function findParameter({ properties = {} }: Schema, names: readonly string[]): string | undefined {
  return names.find((name) => name in properties);
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
