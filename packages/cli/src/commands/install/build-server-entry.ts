import { existsSync, realpathSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { loadVersion, type Host } from "@budgie/mcp-server";
import type { Client, Scope } from "./clients.ts";
import type { Entry } from "./config-format.ts";

type Wanted = { readonly client: Client; readonly scope: Scope; readonly args: readonly string[] };

/** Returns budgie's entry in a client's configuration, with these options. */
export function buildServerEntry({ args, client, scope }: Wanted): Entry {
  const [command, ...before] = buildCommand(scope);
  const words = [...before, ...args];
  return {
    ...(client.type === undefined ? {} : { type: client.type }),
    ...(client.joinsArguments === true ? { command: [command, ...words] } : { command, args: words }),
    ...client.keys,
  };
}

/** Returns the user's options, with `--sandbox`, unless they name a runner, and safe tool names as defaults. */
export function buildServerOptions(args: readonly string[], { wantsSafeNames }: Client): readonly string[] {
  const sandbox = args.some((word) => /^--?(?:(?:no-)?sandbox|runner)(?:=|$)/.test(word)) ? [] : ["--sandbox"];
  const isNamed = !wantsSafeNames || args.some((word) => /^--?tool-names(?:=|$)/.test(word));
  return [...sandbox, ...(isNamed ? [] : ["--tool-names", "safe"]), ...args];
}

/** Returns whether the command of a shared configuration is on the PATH. */
export function hasSharedCommand({ env, platform }: Host): boolean {
  const folders = (env["PATH"] ?? "").split(delimiter);
  const name = platform === "win32" ? `${SHARED}.cmd` : SHARED;
  return folders.some((folder) => folder !== "" && existsSync(join(folder, name)));
}

/** Returns whether npx has fetched this program. */
export function isInNpxCache(): boolean {
  return PROGRAM.split(/[/\\]/).includes("_npx");
}

/** Returns the words that start budgie. npx may empty its cache, and then fetches this version again. */
function buildCommand(scope: Scope): readonly [string, ...string[]] {
  if (isInNpxCache()) return ["npx", "-y", `budgie-mcp@${loadVersion()}`];
  return scope === "project" ? [SHARED] : [findNode(process.execPath), PROGRAM];
}

// A shared file must not contain paths of this machine.
const SHARED = "budgie";

// Desktop applications start servers with a PATH that often has neither node nor budgie.
const PROGRAM = fileURLToPath(new URL("../../../bin/budgie.js", import.meta.url));

/** Finds a path of this Node that survives updates by a package manager; otherwise returns its own path. */
function findNode(execPath: string): string {
  const names = [
    "/opt/homebrew/bin/node",
    "/home/linuxbrew/.linuxbrew/bin/node",
    "/usr/local/bin/node",
    "/usr/bin/node",
  ];
  return names.find((name) => existsSync(name) && realpathSync(name) === realpathSync(execPath)) ?? execPath;
}
