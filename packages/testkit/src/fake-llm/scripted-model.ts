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
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "call"; readonly name: string; readonly arguments: Readonly<Record<string, string>> };

/** Returns the reply by the last prompt's script: one call for each `[[write PATH: TEXT]]`, then all `[[say: TEXT]]`. */
export function toReply({ prompts, toolResults, tools }: Conversation): Reply {
  const script = prompts.map((prompt) => parseScript(prompt).directives).findLast(({ length }) => length > 0) ?? [];
  const next = script.filter(({ name }) => name === "write")[toolResults];
  if (next !== undefined) return toWrite(next, tools);
  const words = script.filter(({ name }) => name === "say").map(({ text }) => text);
  return { kind: "text", text: words.join("\n") };
}

const PATH_NAMES = ["file_path", "path"];
const COMMAND_NAMES = ["cmd", "command"];

/** Returns a call that writes a file. Tool names differ between programs, so the tool is recognized by its parameters. */
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
