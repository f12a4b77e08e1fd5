import { existsSync, realpathSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Host } from "../../process/host.ts";
import type { Client, Scope } from "./clients.ts";
import type { Entry } from "./config-format.ts";

type Wanted = { readonly client: Client; readonly scope: Scope; readonly args: readonly string[] };

/** What a client's configuration says of budgie, with these options. */
export function toServerEntry({ args, client, scope }: Wanted): Entry {
  const [command, ...before] = scope === "project" ? [SHARED] : [findNode(process.execPath), PROGRAM];
  return {
    ...(client.type === undefined ? {} : { type: client.type }),
    command,
    args: [...before, ...args],
    ...client.timeouts,
  };
}

/** The user's options, in a sandbox unless they say otherwise, and with names that the client can do with. */
export function toServerOptions(args: readonly string[], { wantsSafeNames }: Client): readonly string[] {
  const sandbox = args.some((word) => /^--?(?:no-)?sandbox(?:=|$)/.test(word)) ? [] : ["--sandbox"];
  const isNamed = !wantsSafeNames || args.some((word) => /^--?tool-names(?:=|$)/.test(word));
  return [...sandbox, ...(isNamed ? [] : ["--tool-names", "safe"]), ...args];
}

/** Whether what a shared file names is to be found here. */
export function hasSharedCommand({ env, platform }: Host): boolean {
  const folders = (env["PATH"] ?? "").split(delimiter);
  const name = platform === "win32" ? `${SHARED}.cmd` : SHARED;
  return folders.some((folder) => folder !== "" && existsSync(join(folder, name)));
}

/** Whether this program is where npx keeps what it ran, which npm may empty. */
export function isInNpxCache(): boolean {
  return PROGRAM.split(/[/\\]/).includes("_npx");
}

// A path of this machine is no use to others who have the repository, and tells them about it.
const SHARED = "budgie";

// Desktop applications start servers with a PATH of their own, in which there is often neither node nor budgie.
const PROGRAM = fileURLToPath(new URL("../../../bin/budgie.js", import.meta.url));

/** A name of this Node that outlives its next update, where a package manager keeps one; else its own path. */
function findNode(execPath: string): string {
  const names = [
    "/opt/homebrew/bin/node",
    "/home/linuxbrew/.linuxbrew/bin/node",
    "/usr/local/bin/node",
    "/usr/bin/node",
  ];
  return names.find((name) => existsSync(name) && realpathSync(name) === realpathSync(execPath)) ?? execPath;
}
