import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";

/** The file that holds login, state and conversations. */
export function databaseFile(): string {
  const data = process.env["XDG_DATA_HOME"] || join(homedir(), ".local", "share");
  return join(data, "kiro-cli", "data.sqlite3");
}

/** The folder that holds agents and settings. */
export function kiroFolder(): string {
  return process.env["KIRO_HOME"] || join(homedir(), ".kiro");
}

/** Resolves a path as the real one does for `file://`: absolute, from the home, or from a folder. */
export function resolveFrom(folder: string, path: string): string {
  if (path === "~" || path.startsWith("~/")) return join(homedir(), path.slice(1));
  return isAbsolute(path) ? path : resolve(folder, path);
}
