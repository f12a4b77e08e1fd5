import type { UsableServer } from "../agents/find-servers.ts";
import { connectAt } from "../connections/connect-at.ts";
import { createServerSandboxes } from "../connections/server-sandboxes.ts";
import { createSharedServer, type SharedServer } from "../server/shared-server.ts";
import type { ServeAgentOptions } from "./shared-servers.ts";

/** Returns the instance of a server that sessions share. A failed one is replaced for the next session, and its home is kept. */
export function findShared(usable: UsableServer, { config, runner, shared }: ServeAgentOptions): SharedServer {
  const key = toKey(usable);
  const known = shared.get(key);
  if (known !== undefined && known.server.state() !== "error") return known.server;
  const sandboxes = known?.sandboxes ?? createServerSandboxes(async () => runner, config.stateDir);
  const server = createSharedServer({
    server: usable.server,
    connect: connectAt([usable], { config, sandboxes }),
    client: { name: "budgie", version: config.version },
  });
  shared.set(key, { server, sandboxes });
  return server;
}

/** Returns the key of an instance, without what agents may do with it. */
function toKey({ place, server }: UsableServer): string {
  return JSON.stringify([place, { ...server, from: "", disabledTools: [] }]);
}
