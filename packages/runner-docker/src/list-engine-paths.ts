import { isAbsolute } from "node:path";
import type { GuardedPath } from "@budgie/core/policy";
import type { Engine } from "./engine/engine.ts";
import { usualSockets, type HostEnvironment } from "./engine/find-endpoints.ts";

/** The user's home and environment, which determine where an engine's sockets are. */
export type Host = { readonly home: string; readonly hostEnv: HostEnvironment };

/** Lists the paths that no workspace may contain. Each usual socket is one, since any engine gives access to the host. */
export function listEnginePaths(
  { endpoint: { address }, rootDir }: Engine,
  { home, hostEnv }: Host,
): readonly GuardedPath[] {
  const own = "socketPath" in address ? [address.socketPath] : [];
  const what = "a container engine's socket";
  return [
    ...[...own, ...usualSockets(hostEnv, home)].map((path) => ({ path, what })),
    ...(isAbsolute(rootDir) ? [{ path: rootDir, what: "the container engine's own files" }] : []),
  ];
}
