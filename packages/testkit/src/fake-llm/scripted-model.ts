import { parseScript, type Directive } from "../kiro-cli/script/script.ts";

/** A request to the model, independent of its API. */
export type Conversation = {
  /** The user messages, oldest first; some are the agent program's own context */
  readonly prompts: readonly string[];
  /** Number of tool results since the last prompt */
  readonly toolResults: number;
  readonly tools: readonly Tool[];
};

type Tool = { readonly name: string; readonly parameters: Schema };

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
export type Answered =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "call"; readonly name: string; readonly arguments: Readonly<Record<string, boolean | string>> };

/**
 * Returns the reply by the last prompt's script: one call for each `[[write PATH: TEXT]]` and `[[run: COMMAND]]`, then all `[[say: TEXT]]`.
 * `[[recall]]` says the words of earlier prompts that begin with "token-", `[[hang]]` never answers, and `[[fail: STATUS]]` fails.
 */
export function toReply({ prompts, toolResults, tools }: Conversation): Reply {
  const script = prompts.map((prompt) => parseScript(prompt).directives).findLast(({ length }) => length > 0) ?? [];
  const next = script.filter(({ name }) => name === "write" || name === "run")[toolResults];
  if (next !== undefined) return next.name === "write" ? toWrite(next, tools) : toRun(next.text, tools);
  if (script.some(({ name }) => name === "hang")) return { kind: "hang" };
  const failure = script.find(({ name }) => name === "fail");
  if (failure !== undefined) return { kind: "fail", status: Number(failure.text) };
  const recalled = prompts.join(" ").match(/token-\w+/g) ?? [];
  const words = script.flatMap(({ name, text }) => (name === "say" ? [text] : name === "recall" ? recalled : []));
  return { kind: "text", text: words.join("\n") };
}

const PATH_NAMES = ["file_path", "filePath", "path"];
const COMMAND_NAMES = ["cmd", "command"];

/** Returns a call that writes a file. Tool names differ between programs, so the tool is recognized by its parameters. */
function toWrite({ argument, text }: Directive, tools: readonly Tool[]): Reply {
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
    // Qwen Code refuses a call without it.
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
