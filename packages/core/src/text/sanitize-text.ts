import { removeTerminalSequences } from "./remove-terminal-sequences.ts";

/**
 * Removes what a model or a terminal sees but a person does not: terminal sequences, control characters other than tab and newline, and
 * Unicode's default-ignorable characters (tags, bidi controls, zero-width ones). Everything else stays.
 */
export function sanitizeText(text: string): string {
  // Replaces lone surrogates first: removing what stands between two of them could join them into a character.
  return removeTerminalSequences(text.replace(LONE_SURROGATE, "\uFFFD")).replace(UNSEEN, "");
}

const LONE_SURROGATE = /\p{Surrogate}/gu;

// One variation selector may follow an emoji: it chooses between the emoji's two forms. A run of selectors could hide a message.
const UNSEEN = /(?![\t\n]|(?<=\p{Emoji})[\uFE0E\uFE0F])[\p{Default_Ignorable_Code_Point}\p{Control}\uFFF9-\uFFFB]/gu;
