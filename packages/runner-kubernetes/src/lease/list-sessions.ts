import { isSessionId, type HomeRecord, type Owner } from "@budgie/core";
import type { Cluster } from "../api/index.ts";
import { OURS, parseMetadata } from "./to-metadata.ts";

/** Lists the sessions that have a Pod on a cluster. Whatever does not say whose it is counts as an unreachable owner's. */
export async function listSessions(cluster: Cluster, owner: Owner): Promise<readonly HomeRecord[]> {
  const pods = await cluster.list("pods", `${OURS},dev.budgie.session`);
  const records = pods.map(async (pod): Promise<HomeRecord | undefined> => {
    const facts = parseMetadata(pod);
    if (!isSessionId(facts.session)) return undefined;
    const state = facts.owner === undefined ? "foreign" : await owner.stateOf(facts.owner);
    return { id: facts.session, created: pod.created, home: pod.name, owner: state };
  });
  return (await Promise.all(records)).filter((record) => record !== undefined);
}
