import { parseScript, type Directive } from "../kiro-cli/script/script.ts";

/** What an agent program sends its model, apart from the API that it does so by. */
export type Conversation = {
  /** What users said, the oldest first; some of it is the program's own context */
  readonly prompts: readonly string[];
  /** How many of the model's tool calls have been answered since the last prompt */
  readonly toolResults: number;
  readonly tools: readonly Tool[];
};

type Tool = { readonly name: string; readonly parameters: Schema };

/** As much of JSON Schema as describes tools. */
export type Schema = {
  readonly properties?: Readonly<Record<string, unknown>>;
};

export type Reply =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "call"; readonly name: string; readonly arguments: Readonly<Record<string, string>> };

/** Answers as the last prompt says: each `[[write PATH: TEXT]]` in a call of its own, then all `[[say: TEXT]]` at once. */
export function toReply({ prompts, toolResults, tools }: Conversation): Reply {
  const script = prompts.map((prompt) => parseScript(prompt).directives).findLast(({ length }) => length > 0) ?? [];
  const next = script.filter(({ name }) => name === "write")[toolResults];
  if (next !== undefined) return toWrite(next, tools);
  const words = script.filter(({ name }) => name === "say").map(({ text }) => text);
  return { kind: "text", text: words.join("\n") };
}

const PATH_NAMES = ["file_path", "path"];
const COMMAND_NAMES = ["cmd", "command"];

/** Programs name their tools as they like, but what a tool takes tells what it is. */
function toWrite({ argument, text }: Directive, tools: readonly Tool[]): Reply {
  for (const { name, parameters } of tools) {
    const path = findParameter(parameters, PATH_NAMES);
    if (path !== undefined && findParameter(parameters, ["content"]) !== undefined) {
      return { kind: "call", name, arguments: { [path]: argument, content: text } };
    }
  }
  for (const { name, parameters } of tools) {
    const command = findParameter(parameters, COMMAND_NAMES);
    if (command !== undefined) {
      return { kind: "call", name, arguments: { [command]: `printf %s ${quote(text)} >${quote(argument)}` } };
    }
  }
  return { kind: "text", text: `None of my tools can write: ${tools.map(({ name }) => name).join(", ")}` };
}

function findParameter({ properties = {} }: Schema, names: readonly string[]): string | undefined {
  return names.find((name) => name in properties);
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
