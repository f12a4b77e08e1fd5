import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";

/** Returns the path of the database with login, state and conversations. */
export function databaseFile(): string {
  const data = process.env["XDG_DATA_HOME"] || join(homedir(), ".local", "share");
  return join(data, "kiro-cli", "data.sqlite3");
}

/** Returns the folder of agents and settings. */
export function kiroFolder(): string {
  return process.env["KIRO_HOME"] || join(homedir(), ".kiro");
}

/** Resolves a path like the real program does for `file://`: absolute, relative to the home, or to a folder. */
export function resolveFrom(folder: string, path: string): string {
  if (path === "~" || path.startsWith("~/")) return join(homedir(), path.slice(1));
  return isAbsolute(path) ? path : resolve(folder, path);
}
