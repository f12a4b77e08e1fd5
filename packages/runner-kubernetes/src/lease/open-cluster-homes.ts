import { BudgieError, type Owner, type ResourceUse, type SessionHomes, type SessionId } from "@budgie/core";
import type { Cluster } from "../api/index.ts";
import { listSessions } from "./list-sessions.ts";
import { OURS } from "./to-metadata.ts";

/** Opens the homes that sessions have in Pods of a cluster, for commands that manage them. */
export function openClusterHomes(cluster: Cluster, owner: Owner): SessionHomes {
  return {
    list: () => listSessions(cluster, owner),
    async remove(id) {
      const pods = await cluster.list("pods", `${OURS},dev.budgie.session=${id}`);
      await Promise.all(pods.map((pod) => cluster.remove("pods", pod)));
    },
    pack: (id) => Promise.reject(inUse(id)),
    measure: (ids) => findPods(cluster, new Set(ids)),
  };
}

/** Finds the Pods of these sessions. The cluster does not say what they use. */
async function findPods(cluster: Cluster, ids: ReadonlySet<string>): Promise<ReadonlyMap<string, ResourceUse>> {
  const pods = await cluster.list("pods", `${OURS},dev.budgie.session`);
  const found = pods.flatMap(({ labels, name }): readonly [string, ResourceUse][] => {
    const session = labels["dev.budgie.session"] ?? "";
    return ids.has(session) ? [[session, { pod: name, cpuMs: undefined, memoryBytes: undefined }]] : [];
  });
  return new Map(found);
}

function inUse(id: SessionId): BudgieError {
  return new BudgieError(
    "SESSION_UNUSABLE",
    `The home of the session "${id}" is in its Pod, which only its budgie reads. End that budgie, if it keeps sessions, and export the session then.`,
  );
}
