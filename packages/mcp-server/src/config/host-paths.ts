import { existsSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import { BudgieError } from "@budgie/core";
import type { Host } from "../process/host.ts";

type Place = Pick<Host, "cwd" | "env" | "home" | "platform">;

/** Returns the absolute path. Expands `~`, because MCP clients start budgie without a shell. */
export function toAbsolutePath(path: string, { cwd, home }: Pick<Place, "cwd" | "home">): string {
  if (path === "~") return home;
  return path.startsWith("~/") ? join(home, path.slice(2)) : resolve(cwd, path);
}

/** Finds the file that an option names. Throws `CONFIG_INVALID` if it does not exist; returns `undefined` without an option. */
export function findExistingFile(
  file: string | undefined,
  option: string,
  place: Pick<Place, "cwd" | "home">,
): string | undefined {
  return file === undefined ? undefined : refuseMissing(toAbsolutePath(file, place), { kind: "file", option });
}

/** Returns the path. Throws `CONFIG_INVALID` if it does not exist. */
export function refuseMissing(
  path: string,
  { kind, option }: { readonly kind: "directory" | "file"; readonly option: string },
): string {
  if (existsSync(path)) return path;
  throw new BudgieError(
    "CONFIG_INVALID",
    `There is no ${kind} "${path}" for ${option}. Create it, or leave the option out.`,
  );
}

/** Returns the folder of Kiro's database on this system. */
export function toKiroDataDir({ env, home, platform }: Omit<Place, "cwd">): string {
  if (platform === "darwin") return join(home, "Library", "Application Support", "kiro-cli");
  return join(toXdgDir(env["XDG_DATA_HOME"]) ?? join(home, ".local", "share"), "kiro-cli");
}

/** Returns the folder of Kiro's own files. */
export function toKiroFolder({ env, home }: Pick<Place, "env" | "home">): string {
  return toXdgDir(env["KIRO_HOME"]) ?? join(home, ".kiro");
}

/** Returns the default folder of budgie's persistent state. */
export function toStateDir({ env, home }: Pick<Place, "env" | "home">): string {
  return join(toXdgDir(env["XDG_STATE_HOME"]) ?? join(home, ".local", "state"), "budgie");
}

/** Returns the value of an XDG variable. Relative paths are invalid by the specification, and ignored. */
function toXdgDir(value: string | undefined): string | undefined {
  return value !== undefined && isAbsolute(value) ? value : undefined;
}
