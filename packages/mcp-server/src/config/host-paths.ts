import { existsSync, lstatSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import { BudgieError } from "@budgie/core";
import type { Host } from "../process/host.ts";

type PathHost = Pick<Host, "cwd" | "env" | "home" | "platform">;

/** Returns the absolute path. Expands `~`, because MCP clients start budgie without a shell. */
export function resolvePath(path: string, { cwd, home }: Pick<PathHost, "cwd" | "home">): string {
  if (path === "~") return home;
  return path.startsWith("~/") ? join(home, path.slice(2)) : resolve(cwd, path);
}

/** Returns an absolute path, since agents start in other folders. A bare name stays, and is searched on the PATH. */
export function toBinary(binary: string, place: Pick<PathHost, "cwd" | "home">): string {
  return binary.includes("/") ? resolvePath(binary, place) : binary;
}

/** Returns false only for a path where nothing is: a file that cannot be looked at may ask for a sandbox. */
export function mayExist(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

/** Finds the file that an option names. Throws `CONFIG_INVALID` if it does not exist; returns `undefined` without an option. */
export function findExistingFile(
  file: string | undefined,
  option: string,
  place: Pick<PathHost, "cwd" | "home">,
): string | undefined {
  return file === undefined ? undefined : refuseMissing(resolvePath(file, place), { kind: "file", option });
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
export function findKiroDataDir({ env, home, platform }: Omit<PathHost, "cwd">): string {
  if (platform === "darwin") return join(home, "Library", "Application Support", "kiro-cli");
  return join(checkXdgDir(env["XDG_DATA_HOME"]) ?? join(home, ".local", "share"), "kiro-cli");
}

/** Returns the folder of Kiro's own files. */
export function findKiroFolder({ env, home }: Pick<PathHost, "env" | "home">): string {
  return checkXdgDir(env["KIRO_HOME"]) ?? join(home, ".kiro");
}

/** Returns the default folder of budgie's persistent state. */
export function findStateDir({ env, home }: Pick<PathHost, "env" | "home">): string {
  return join(checkXdgDir(env["XDG_STATE_HOME"]) ?? join(home, ".local", "state"), "budgie");
}

/** Returns the folder of programs' configuration on Linux. */
export function findConfigFolder({ env, home }: Pick<PathHost, "env" | "home">): string {
  return checkXdgDir(env["XDG_CONFIG_HOME"]) ?? join(home, ".config");
}

/** Returns the configuration file that is read if no option names one; it may be missing. */
export function toDefaultConfigFile({ env, home }: Pick<PathHost, "env" | "home">): string {
  return join(findConfigFolder({ env, home }), "budgie", "config.json");
}

/** Returns the words of a command line that lead it to a state directory; none for the default one. */
export function stateDirOption(stateDir: string, host: Pick<PathHost, "env" | "home">): readonly string[] {
  return stateDir === findStateDir(host) ? [] : ["--state-dir", stateDir];
}

/** Returns the value of an XDG variable. Relative paths are invalid by the specification, and ignored. */
function checkXdgDir(value: string | undefined): string | undefined {
  return value !== undefined && isAbsolute(value) ? value : undefined;
}
