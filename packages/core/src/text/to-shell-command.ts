/** Returns words as a command for a shell. */
export function toShellCommand(words: readonly string[]): string {
  return words.map(quoteWord).join(" ");
}

function quoteWord(text: string): string {
  return /^[\w./:@+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
