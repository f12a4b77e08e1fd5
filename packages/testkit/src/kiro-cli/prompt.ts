import { readFileSync } from "node:fs";
import { isatty } from "node:tty";
import { toExitError } from "./profile/exit-error.ts";

/** The handling of a prompt before it reaches the model. */
export type Interpretation =
  | { readonly kind: "model"; readonly text: string }
  | { readonly kind: "shell"; readonly command: string }
  | { readonly kind: "slash"; readonly command: string }
  | { readonly kind: "lookup"; readonly name: string };

/** The source of a prompt; `stdin` is the text that was read, if any. */
export type PromptSource = { readonly text: string | undefined; readonly stdin: string | undefined };

/** Reads the prompt: the positional argument, else all of stdin unless it is a terminal. */
export function readPrompt(input: string | undefined): PromptSource {
  if (input !== undefined) return { text: input, stdin: undefined };
  if (isatty(0)) return { text: undefined, stdin: undefined };
  const stdin = readFileSync(0, "utf8");
  return { text: stdin.trim() || undefined, stdin };
}

/** Throws if there is no prompt, since no user can be asked for one. */
export function requirePrompt({ text }: PromptSource): string {
  if (text !== undefined) return text;
  throw toExitError(1, "error: Input must be supplied when running in non-interactive mode");
}

/** Checks a prompt's first character, like Kiro does before any model or permission. */
export function interpretPrompt(prompt: string): Interpretation {
  // Invisible "tag" characters could hide instructions from a reader.
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
