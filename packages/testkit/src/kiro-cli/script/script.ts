import { existsSync } from "node:fs";

/** One `[[name argument: text]]` in a prompt. */
export type Directive = {
  readonly name: string;
  readonly argument: string;
  readonly text: string;
};

/** A prompt as the scripted model understands it. */
export type Script = {
  readonly directives: readonly Directive[];
  /** The caller's own words: without directives, and without what budgie puts before and behind them */
  readonly words: string;
  /** The file that the prompt wants the answer in */
  readonly responseFile: string | undefined;
  /** Whether it only asks for the previous answer once more, as a file */
  readonly repeats: boolean;
  /** The folder that the prompt names to work in */
  readonly workspace: string;
};

const DIRECTIVE = /\[\[([a-z-]+)(?:\s+([^\]:]*?))?(?::\s?([\s\S]*?))?\]\]/g;
const RESPONSE_FILE = /^(?:.*: )?Write your (?:response to|previous response to the file): (.+)$/gm;
const REPEATS = /^(?:.*: )?Write your previous response to the file: /m;

/** Reads the script out of a prompt. */
export function parseScript(prompt: string): Script {
  const directives = [...prompt.matchAll(DIRECTIVE)].map(([, name = "", argument = "", text = ""]) => ({
    name,
    argument: argument.trim(),
    text,
  }));
  return {
    directives,
    words: toWords(prompt),
    // The last one: what a caller wrote comes before what budgie appends.
    responseFile: [...prompt.matchAll(RESPONSE_FILE)].at(-1)?.[1]?.trim(),
    repeats: REPEATS.test(prompt),
    workspace: findWorkspace(prompt),
  };
}

/** Whether a prompt holds a certain directive. */
export function hasDirective(script: Script, name: string): boolean {
  return script.directives.some((directive) => directive.name === name);
}

function toWords(prompt: string): string {
  const place = namedPlace(prompt);
  const own = place === undefined ? prompt : prompt.slice(`In directory ${place}, `.length);
  const appended = own.search(RESPONSE_FILE);
  const words = appended < 0 ? own : own.slice(0, appended);
  return words.replace(DIRECTIVE, "").trim();
}

function findWorkspace(prompt: string): string {
  return /^Working directory: (.+)$/m.exec(prompt)?.[1] ?? namedPlace(prompt) ?? process.cwd();
}

/** The existing folder that the prompt begins with; its path may hold commas. */
function namedPlace(prompt: string): string | undefined {
  const line = /^In directory (.+)/.exec(prompt)?.[1];
  if (line === undefined) return undefined;
  const parts = line.split(", ");
  const candidates = parts.slice(0, -1).map((_, index) => parts.slice(0, index + 1).join(", "));
  return candidates.findLast((path) => existsSync(path));
}
