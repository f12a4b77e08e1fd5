const MOST_CHARACTERS = 1024;

/**
 * Returns true if a string is the path of a file below a home, such as `.codex/auth.json`: relative, without empty parts, `.`, `..` or
 * control characters.
 */
export function isHomePath(path: string): boolean {
  if (path.length > MOST_CHARACTERS || /\p{Cc}/u.test(path)) return false;
  return path.split("/").every((part) => !["", ".", ".."].includes(part));
}
