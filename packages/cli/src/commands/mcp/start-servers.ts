import type { ServerStatus } from "@budgie/mcp-manager";
import type { FoundServer, UsableServer } from "@budgie/mcp-manager/agents";
import { withManager, type Managed } from "./with-manager.ts";

// Each is a process or a container.
const AT_ONCE = 4;

/** Starts each server that may be used, four at once, and returns the states in the order of the servers. */
export async function startServers(
  found: readonly FoundServer[],
  parts: Omit<Managed, "servers">,
): Promise<readonly (ServerStatus | undefined)[]> {
  const usable = found.map(({ use }) => ("server" in use ? use : undefined));
  // Agents may share a server, or have different ones of the same name.
  const groups = groupServers(usable.filter((use) => use !== undefined));
  const started = new Map<string, ServerStatus>();
  for (const servers of groups) {
    const list = await withManager({ ...parts, servers }, async (manager) => {
      await manager.start();
      return manager.list();
    });
    list.forEach((status, index) => started.set(JSON.stringify(servers[index]), status));
  }
  return usable.map((use) => started.get(JSON.stringify(use)));
}

/** Groups the different servers, so that each name occurs once in a group, and no group is too large to run at once. */
function groupServers(servers: readonly UsableServer[]): readonly (readonly UsableServer[])[] {
  const different = new Map(servers.map((server) => [JSON.stringify(server), server]));
  const groups: Map<string, UsableServer>[] = [];
  for (const server of different.values()) {
    const free = groups.find((group) => group.size < AT_ONCE && !group.has(server.server.name));
    if (free === undefined) groups.push(new Map([[server.server.name, server]]));
    else free.set(server.server.name, server);
  }
  return groups.map((group) => [...group.values()]);
}
