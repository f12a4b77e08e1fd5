import { removeTerminalSequences } from "./remove-terminal-sequences.ts";

/**
 * Removes what a reader does not see and a model or a terminal does: terminal sequences, control characters other than tab
 * and newline, and Unicode's default-ignorable characters (tags, bidi controls, zero-width ones). All else stays as it is.
 */
export function sanitizeText(text: string): string {
  // Half a surrogate pair first: removing what stands between two halves would make a character of them.
  return removeTerminalSequences(text.replace(LONE_SURROGATE, "\uFFFD")).replace(UNSEEN, "");
}

const LONE_SURROGATE = /\p{Surrogate}/gu;

// One variation selector may follow an emoji: it chooses between its two forms, and a run of them could hold a message.
const UNSEEN = /(?![\t\n]|(?<=\p{Emoji})[\uFE0E\uFE0F])[\p{Default_Ignorable_Code_Point}\p{Control}\uFFF9-\uFFFB]/gu;
