import { BudgieError, type ErrorCode, type SessionId } from "@budgie/core";
import type { OwnerRecord } from "@budgie/core/owners";
import type { Cluster } from "../api/index.ts";
import type { HeldLease } from "../lease/index.ts";
import type { PodShape } from "../pod/index.ts";
import type { FollowedPods } from "../pods/follow-pods.ts";
import type { Wire, WireStream } from "../wire/index.ts";
import type { PodWait } from "./await-pod.ts";

/** A Pod whose sidecar answers. */
export type ReachedPod = {
  readonly wire: Wire;
  /** Address of its node; `undefined` if the cluster does not say it */
  readonly nodeAddress: string | undefined;
  /** The Service of the API server as the Pod's programs see it, such as `10.96.0.1:443`, in the Pod's words */
  readonly service: unknown;
};

/** A running Pod of a session, and the wire to it. */
export type LivePod = ReachedPod & {
  readonly name: string;
  readonly uid: string;
  /** The facts that `hold` told of its kernel */
  readonly kernel: { readonly landlock: number; readonly ports: readonly [first: number, last: number] };
  /** False if the agent's folders are another user's, since kubelet made them: git trusts no repository there */
  readonly areFoldersOwn: boolean;
  /** Resolves when it can be used no more: to the reason. Never rejects */
  readonly lost: Promise<BudgieError>;
  /** Removes it unless another budgie has taken it over, and resolves once it is gone */
  readonly remove: () => Promise<void>;
};

/** The cluster of a session's Pods, and this budgie there. */
export type PodPlace = {
  readonly cluster: Cluster;
  readonly owner: OwnerRecord;
  readonly lease: HeldLease;
  readonly pods: FollowedPods;
};

/** The Pod to open. */
export type PodOpening = {
  readonly session: SessionId;
  readonly shape: Omit<PodShape, "labels" | "mostSeconds" | "name" | "owner" | "user">;
  /** Takes a stream that the Pod opened */
  readonly onStream: (stream: WireStream) => void;
  /** Hears when the sidecar answers, which may be before the agent's container runs */
  readonly onReached?: ((pod: ReachedPod) => void) | undefined;
  readonly wait: PodWait;
};

/** Codes of errors for which somebody may have to look at the Pod. */
const ABOUT_PODS: readonly ErrorCode[] = ["AGENT_CRASHED", "RUNNER_UNAVAILABLE", "SESSION_UNUSABLE"];

/** Returns an error of a Pod's work with the Pod's name in its message, and anything else as it is. */
export function namePod({ name }: Pick<LivePod, "name">, error: unknown): unknown {
  if (!(error instanceof BudgieError) || !ABOUT_PODS.includes(error.code) || error.message.includes(name)) return error;
  return new BudgieError(error.code, `${error.message} It was the Pod "${name}".`, {
    cause: error,
    report: error.report,
  });
}
