/** Replaces control and other invisible characters of a line: anyone can choose names and labels, and a terminal obeys them. */
export function escapeForTerminal(text: string): string {
  return text.replace(/\p{C}/gu, "?");
}
