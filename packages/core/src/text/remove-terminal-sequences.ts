/** Removes terminal escape sequences: colours, cursor movements, titles, links (their text stays). */
export function removeTerminalSequences(text: string): string {
  return text.replace(TERMINAL_SEQUENCE, "");
}

// ECMA-48: control sequences, control strings, and short escapes. A control string ends on its own line, so that none can take more of the
// text with it. Each part excludes what the next begins with: matching takes linear time, unlike with Node's `stripVTControlCharacters`.
const TERMINAL_SEQUENCE =
  // oxlint-disable-next-line no-control-regex
  /(?:\u001B\[|\u009B)[0-?]*[ -/]*[@-~]|(?:\u001B[\]PX^_]|[\u0090\u0098\u009D-\u009F])[^\u0000-\u001F\u007F-\u009F]*(?:\u0007|\u001B\\|\u009C)|\u001B[ -/]*[0-~]/g;
