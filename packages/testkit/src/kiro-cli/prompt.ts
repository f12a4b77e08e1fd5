import { readFileSync } from "node:fs";
import { isatty } from "node:tty";
import { toExitError } from "./profile/exit-error.ts";

/** What becomes of a prompt before a model sees it. */
export type Interpretation =
  | { readonly kind: "model"; readonly text: string }
  | { readonly kind: "shell"; readonly command: string }
  | { readonly kind: "slash"; readonly command: string }
  | { readonly kind: "lookup"; readonly name: string };

/** Where a prompt came from; `stdin` is what was read from there, if it was read. */
export type PromptSource = { readonly text: string | undefined; readonly stdin: string | undefined };

/** The positional argument, or else all of stdin unless that is a terminal; with an argument, stdin is never read. */
export function readPrompt(input: string | undefined): PromptSource {
  if (input !== undefined) return { text: input, stdin: undefined };
  if (isatty(0)) return { text: undefined, stdin: undefined };
  const stdin = readFileSync(0, "utf8");
  return { text: stdin.trim() || undefined, stdin };
}

/** Refuses to go on without a prompt, as there is nobody to ask for one. */
export function requirePrompt({ text }: PromptSource): string {
  if (text !== undefined) return text;
  throw toExitError(1, "error: Input must be supplied when running in non-interactive mode");
}

/** Looks at a prompt's first character, as Kiro does before any model or permission has a say. */
export function interpretPrompt(prompt: string): Interpretation {
  // Invisible "tag" characters could smuggle instructions past a reader.
  const text = prompt.replace(/[\u{E0000}-\u{E007F}]/gu, "").trim();
  const rest = text.slice(1);
  switch (text.charAt(0)) {
    case "!":
      return { kind: "shell", command: rest };
    case "/":
      // A path is not a command, but loses its slash.
      return /^\S*[/\\.]/.test(rest) ? { kind: "model", text: rest } : { kind: "slash", command: rest };
    case "@":
      return { kind: "lookup", name: rest.split(/\s/)[0] ?? "" };
    default:
      return { kind: "model", text };
  }
}
