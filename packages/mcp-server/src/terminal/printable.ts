/** A line without what a terminal would obey: names and labels can be written by anyone. */
export function escapeForTerminal(text: string): string {
  return text.replace(/\p{C}/gu, "?");
}
