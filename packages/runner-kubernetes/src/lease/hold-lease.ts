import { BudgieError } from "@budgie/core";
import type { OwnerRecord } from "@budgie/core/owners";
import type { Answer, Cluster, ClusterObject } from "../api/index.ts";
import { CLOCK, type Clock } from "../wire/index.ts";
import { toMetadata } from "./to-metadata.ts";

/** The lease of this budgie, which owns its Pods: the cluster removes them with it. */
export type HeldLease = {
  /** The `ownerReferences` of each Pod */
  readonly reference: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly uid: string;
  };
  /** False once it has not been renewed for 60 s. Nothing may be sent to a Pod then */
  readonly isFresh: () => boolean;
  /** Resolves when it is over: to the reason, if it was lost. Never rejects */
  readonly ended: Promise<BudgieError | undefined>;
  /** Leaves it, with its Pods, which end themselves two minutes later unless another budgie takes them over */
  readonly abandon: () => void;
  /** Removes it, and so all Pods that it owns */
  readonly release: () => Promise<void>;
};

const RENEW_MS = 10_000;
const FRESH_MS = 60_000;

/** The time after which another budgie may take an unchanged lease for abandoned. */
export const ABANDONED_MS = 240_000;

/**
 * Creates the lease of an owner, or goes on with the one that an earlier try made, and renews it until it is released. A cluster that is away or
 * refuses is asked again: the lease is lost only once it is gone, or another's.
 */
export async function holdLease(cluster: Cluster, owner: OwnerRecord, clock: Clock = CLOCK): Promise<HeldLease> {
  const name = `budgie-${owner.instance}`;
  let renewedAt = clock.now();
  const { uid } = await create(cluster, name, owner);
  let settle: (reason: BudgieError | undefined) => void = () => undefined;
  const ended = new Promise<BudgieError | undefined>((resolve) => (settle = resolve));
  let isRenewing = false;
  const stop = clock.every(RENEW_MS, () => {
    if (!isRenewing) void renew();
  });

  async function renew(): Promise<void> {
    isRenewing = true;
    // The time before the request: the cluster may have counted from then.
    const asked = clock.now();
    try {
      const answer = await cluster.patch("leases", name, { metadata: { uid }, spec: { renewTime: toMicroTime() } });
      if (isHeld(answer, owner)) renewedAt = asked;
      else end(lostError(name));
    } catch {
      // Rights and credentials come back as a connection does. Without them it is not fresh for long.
    } finally {
      isRenewing = false;
    }
  }

  function end(reason: BudgieError | undefined): void {
    stop();
    renewedAt = -Infinity;
    settle(reason);
  }

  return {
    reference: { apiVersion: "coordination.k8s.io/v1", kind: "Lease", name, uid },
    isFresh: () => clock.now() - renewedAt < FRESH_MS,
    ended,
    abandon: () => end(undefined),
    async release() {
      end(undefined);
      await cluster.remove("leases", { name, uid });
    },
  };
}

/** Creates the lease. The answer to an earlier try may have been lost on its way, which nobody but this budgie makes under this name. */
async function create(cluster: Cluster, name: string, owner: OwnerRecord): Promise<ClusterObject> {
  const answer = await cluster.create("leases", toManifest(name, owner));
  if (answer.outcome === "done") return answer.object;
  const found = answer.outcome === "exists" ? await cluster.get("leases", name) : answer;
  if (found.outcome === "done" && isHeld(found, owner)) return found.object;
  throw createError(found.outcome === "wait" ? found.why : `another one is called "${name}"`);
}

function toManifest(name: string, owner: OwnerRecord) {
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name, ...toMetadata(owner, "", "lease") },
    spec: {
      holderIdentity: owner.instance,
      leaseDurationSeconds: ABANDONED_MS / 1_000,
      renewTime: toMicroTime(),
    },
  };
}

/** Returns the time in the only form that the cluster takes here, with six digits. */
function toMicroTime(): string {
  return new Date().toISOString().replace("Z", "000Z");
}

function isHeld(answer: Answer, { instance }: OwnerRecord): boolean {
  return answer.outcome === "done" && !answer.object.isEnding && answer.object.spec["holderIdentity"] === instance;
}

function createError(why: string): BudgieError {
  return new BudgieError("RUNNER_UNAVAILABLE", `The cluster did not create budgie's lease: ${why}. Try again.`);
}

function lostError(name: string): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `Budgie's lease "${name}" was removed from the cluster, and its Pods with it. Start budgie again.`,
  );
}
