import { existsSync } from "node:fs";

/** A `[[name argument: text]]` in a prompt. */
export type Directive = {
  readonly name: string;
  readonly argument: string;
  readonly text: string;
};

/** A prompt, parsed for the scripted model. */
export type Script = {
  readonly directives: readonly Directive[];
  /** The caller's own text, without directives and budgie's additions */
  readonly words: string;
  /** The answer file that the prompt names */
  readonly responseFile: string | undefined;
  /** True if the prompt only asks to write the previous answer to a file */
  readonly repeats: boolean;
  /** The working folder that the prompt names */
  readonly workspace: string;
};

const DIRECTIVE = /\[\[([a-z-]+)(?:\s+([^\]:]*?))?(?::\s?([\s\S]*?))?\]\]/g;
const RESPONSE_FILE = /^(?:.*: )?Write your (?:response to|previous response to the file): (.+)$/gm;
const REPEATS = /^(?:.*: )?Write your previous response to the file: /m;

/** Parses a prompt's script. */
export function parseScript(prompt: string): Script {
  const directives = [...prompt.matchAll(DIRECTIVE)].map(([, name = "", argument = "", text = ""]) => ({
    name,
    argument: argument.trim(),
    text,
  }));
  return {
    directives,
    words: toWords(prompt),
    // The last one, since budgie appends its text to the caller's.
    responseFile: [...prompt.matchAll(RESPONSE_FILE)].at(-1)?.[1]?.trim(),
    repeats: REPEATS.test(prompt),
    workspace: findWorkspace(prompt),
  };
}

/** Tells if a prompt has a directive of this name. */
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

/** Finds the existing folder at the start of the prompt; its path may contain commas. */
function namedPlace(prompt: string): string | undefined {
  const line = /^In directory (.+)/.exec(prompt)?.[1];
  if (line === undefined) return undefined;
  const parts = line.split(", ");
  const candidates = parts.slice(0, -1).map((_, index) => parts.slice(0, index + 1).join(", "));
  return candidates.findLast((path) => existsSync(path));
}
