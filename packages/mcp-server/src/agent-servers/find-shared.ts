import { createSharedServer, type SharedServer } from "@budgie/mcp-manager";
import { loadVersion } from "../process/load-version.ts";
import { connectAt } from "./connect-at.ts";
import type { UsableServer } from "./find-servers.ts";
import type { ServeAgentOptions } from "./shared-servers.ts";
import { createServerSandboxes } from "./server-sandboxes.ts";

/** Returns the instance of a server that sessions share. A failed one is replaced for the next session, and its home is kept. */
export function findShared(usable: UsableServer, { config, host, runner, shared }: ServeAgentOptions): SharedServer {
  const key = toKey(usable);
  const known = shared.get(key);
  if (known !== undefined && known.server.state() !== "error") return known.server;
  const sandboxes = known?.sandboxes ?? createServerSandboxes(async () => runner, config.stateDir);
  const server = createSharedServer({
    server: usable.server,
    connect: connectAt([usable], { config, host, sandboxes }),
    client: { name: "budgie", version: loadVersion() },
  });
  shared.set(key, { server, sandboxes });
  return server;
}

/** Returns the key of an instance, without what agents may do with it. */
function toKey({ place, server }: UsableServer): string {
  return JSON.stringify([place, { ...server, from: "", disabledTools: [] }]);
}
