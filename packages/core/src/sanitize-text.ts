/**
 * Removes what a reader does not see and a model or a terminal does: terminal sequences, control characters other than tab
 * and newline, and Unicode's default-ignorable characters (tags, bidi controls, zero-width ones). All else stays as it is.
 */
export function sanitizeText(text: string): string {
  // Half a surrogate pair first: removing what stands between two halves would make a character of them.
  return text.replace(LONE_SURROGATE, "\uFFFD").replace(TERMINAL_SEQUENCE, "").replace(UNSEEN, "");
}

const LONE_SURROGATE = /\p{Surrogate}/gu;

// ECMA-48: control sequences, control strings, and short escapes. A control string ends on its own line, so that none can
// take more of the text with it. Each part excludes what the next begins with: matching is linear.
// oxlint-disable no-control-regex
const TERMINAL_SEQUENCE = new RegExp(
  [
    /(?:\u001B\[|\u009B)[0-?]*[ -/]*[@-~]/,
    /(?:\u001B[\]PX^_]|[\u0090\u0098\u009D-\u009F])[^\u0000-\u001F\u007F-\u009F]*(?:\u0007|\u001B\\|\u009C)/,
    /\u001B[ -/]*[0-~]/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "g",
);

// One variation selector may follow an emoji: it chooses between its two forms, and a run of them could hold a message.
const UNSEEN = /(?![\t\n]|(?<=\p{Emoji})[\uFE0E\uFE0F])[\p{Default_Ignorable_Code_Point}\p{Control}\uFFF9-\uFFFB]/gu;
