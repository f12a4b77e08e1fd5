import { existsSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import { BudgieError } from "@budgie/core";
import type { Host } from "../process/host.ts";

type Place = Pick<Host, "cwd" | "env" | "home" | "platform">;

/** The absolute path that a user means: MCP clients start budgie without a shell, so `~` comes as it was written. */
export function toAbsolutePath(path: string, { cwd, home }: Pick<Place, "cwd" | "home">): string {
  if (path === "~") return home;
  return path.startsWith("~/") ? join(home, path.slice(2)) : resolve(cwd, path);
}

/** The absolute path of a file that an option names, or throws `CONFIG_INVALID` if it is not there; a default need not be. */
export function findExistingFile(
  file: string | undefined,
  flag: string,
  place: Pick<Place, "cwd" | "home">,
): string | undefined {
  const absolute = file === undefined ? undefined : toAbsolutePath(file, place);
  if (absolute === undefined || existsSync(absolute)) return absolute;
  throw new BudgieError(
    "CONFIG_INVALID",
    `There is no file "${absolute}" for ${flag}. Create it, or leave the option out.`,
  );
}

/** Where this system's Kiro keeps its database. */
export function toKiroDataDir({ env, home, platform }: Omit<Place, "cwd">): string {
  if (platform === "darwin") return join(home, "Library", "Application Support", "kiro-cli");
  return join(toXdgDir(env["XDG_DATA_HOME"]) ?? join(home, ".local", "share"), "kiro-cli");
}

/** Where budgie keeps what must outlive one run: who owns what. */
export function toStateDir({ env, home }: Pick<Place, "env" | "home">): string {
  return join(toXdgDir(env["XDG_STATE_HOME"]) ?? join(home, ".local", "state"), "budgie");
}

/** By the XDG specification a path that is not absolute counts as none. */
function toXdgDir(value: string | undefined): string | undefined {
  return value !== undefined && isAbsolute(value) ? value : undefined;
}
