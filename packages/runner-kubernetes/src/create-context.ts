import { rmSync } from "node:fs";
import { join } from "node:path";
import { createIdleContainers, createProxyFolder } from "@budgie/sandbox/egress";
import type { Cluster } from "./api/index.ts";
import { readTrust } from "./egress/index.ts";
import { createKeptSessions } from "./keeping/create-kept-sessions.ts";
import { holdLease, type HeldLease } from "./lease/index.ts";
import { chooseClusterLimits } from "./pod/index.ts";
import { createGate } from "./proof/index.ts";
import { followPods, type FollowedPods } from "./session/follow-pods.ts";
import type { PodPlace } from "./session/open-pod.ts";
import type { ClusterContext } from "./turn/cluster-context.ts";
import type { KubernetesRunnerOptions } from "./turn/kubernetes-runner-options.ts";

const POD_IDLE_MS = 5 * 60_000;
// The cluster itself has quotas.
const MOST_IDLE_PODS = 32;

/** The parts that the claims' lab replaces. */
export type RunnerParts = Pick<Parameters<typeof createProxyFolder>[0], "startProxy">;

/** All that the sessions of a runner share, until it is closed. */
export type OpenContext = ClusterContext & { readonly close: (how: "leave Pods" | "remove Pods") => Promise<void> };

/** Creates it. On the cluster it has nothing before the first session. */
export function createContext(cluster: Cluster, options: KubernetesRunnerOptions, parts: RunnerParts): OpenContext {
  const { owner, stateDir } = options;
  const { instance } = owner.record;
  const scratchDir = join(stateDir, "scratch", instance);
  const noProxy = process.env["NO_PROXY"] ?? process.env["no_proxy"] ?? "";
  const upstream = options.upstreamProxy === undefined ? undefined : { url: options.upstreamProxy, noProxy };
  const proxies = createProxyFolder({ stateDir, instance, upstream, ...parts });
  const followed: FollowedPods[] = [];
  let holding: Promise<HeldLease> | undefined;

  function hold(): Promise<HeldLease> {
    if (holding !== undefined) return holding;
    const held = (holding = holdLease(cluster, owner.record));
    const forget = (): void => {
      if (holding === held) holding = undefined;
    };
    // With the lease, the cluster removes all its Pods, whose sessions hear of that. Later ones need another lease.
    held.then(({ ended }) => ended.then(forget), forget);
    return held;
  }

  /** Follows this budgie's Pods. Those of other leases are among them, as long as they are there. */
  function follow(): FollowedPods {
    const last = followed.at(-1);
    if (last?.isRefused() === false) return last;
    const next = followPods(cluster, `dev.budgie.instance=${instance}`);
    followed.push(next);
    return next;
  }

  async function place(): Promise<PodPlace> {
    const lease = await hold();
    return { cluster, owner: owner.record, lease, pods: follow() };
  }

  return {
    options,
    limits: chooseClusterLimits(options.limits),
    place,
    proxies,
    gate: createGate(cluster, { accepted: options.acceptWeaker ?? [], ports: options.ports ?? [] }),
    kept: createKeptSessions({ stateDir, owner }),
    idle: createIdleContainers({ idleMs: options.podIdleMs ?? POD_IDLE_MS, most: MOST_IDLE_PODS }),
    trust: options.caFile === undefined ? undefined : readTrust(options.caFile),
    scratchDir,
    async close(how) {
      const lease = await holding?.catch(() => undefined);
      for (const pods of followed) pods.close();
      try {
        if (how === "leave Pods") lease?.abandon();
        else await lease?.release();
      } finally {
        // Also without a cluster, since a login may be in there.
        rmSync(scratchDir, { recursive: true, force: true });
        await proxies.close();
      }
    },
  };
}
