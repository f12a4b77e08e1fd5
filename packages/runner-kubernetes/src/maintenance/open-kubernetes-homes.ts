import { BudgieError, type Owner, type ResourceUse, type SessionHomes, type SessionId } from "@budgie/core";
import type { Cluster } from "../api/index.ts";
import { createKeptSessions } from "../keeping/create-kept-sessions.ts";
import { listSessions, OURS } from "../lease/index.ts";

export type KubernetesHomesOptions = {
  readonly owner: Owner;
  /** The folder with the sessions that left their Pods */
  readonly stateDir: string;
  /** The cluster with the others; `undefined` if none is known */
  readonly cluster: Cluster | undefined;
};

/** Opens the homes of sessions in Pods and in the state folder, for commands that manage them. */
export function openKubernetesHomes({ cluster, owner, stateDir }: KubernetesHomesOptions): SessionHomes {
  const kept = createKeptSessions({ owner, stateDir });
  return {
    async list() {
      const ofFolder = await kept.list();
      const ofCluster = cluster === undefined ? [] : await listSessions(cluster, owner);
      return [...ofFolder, ...ofCluster.filter(({ id }) => !ofFolder.some((one) => one.id === id))];
    },
    async remove(id) {
      const pods = (await cluster?.list("pods", `${OURS},dev.budgie.session=${id}`)) ?? [];
      for (const pod of pods) await cluster?.remove("pods", pod);
      await kept.remove(id);
    },
    pack: (id) => Promise.reject(packedError(id)),
    measure: async (ids) => (cluster === undefined ? new Map() : await findPods(cluster, new Set(ids))),
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

function packedError(id: SessionId): BudgieError {
  return new BudgieError(
    "CONFIG_INVALID",
    `The session "${id}" is of a cluster, and its home cannot be exported. Resume it, and have its agent write what you need into its directory.`,
  );
}
