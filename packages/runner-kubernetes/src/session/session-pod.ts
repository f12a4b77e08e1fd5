import { isDeepStrictEqual } from "node:util";
import { BudgieError, type SessionId } from "@budgie/core";
import pLimit from "p-limit";
import type { LivePod } from "./live-pod.ts";
import type { PodWait } from "./await-pod.ts";
import type { PodOpening } from "./open-pod.ts";

/** The Pod of a session, which begins when something needs it, and which the session can leave for another one. */
export type SessionPod = {
  /** Resolves to a Pod of this shape with all that the session has. Rejects with `SESSION_UNUSABLE` if that was lost with its Pod */
  readonly open: (shape: PodOpening["shape"], wait: PodWait) => Promise<LivePod>;
  /** Resolves to the Pod that there is; `undefined` if there is none */
  readonly present: () => Promise<LivePod | undefined>;
  /** Packs what the session has, and removes the Pod. A Pod that cannot be packed stays */
  readonly leave: (signal: AbortSignal) => Promise<void>;
  readonly remove: () => Promise<void>;
};

/** The means of a session's Pods. */
export type SessionPodMeans = {
  readonly session: SessionId;
  readonly open: (shape: PodOpening["shape"], wait: PodWait) => Promise<LivePod>;
  /** Packs what a Pod has of the session, for another one */
  readonly pack: (pod: LivePod, signal: AbortSignal) => Promise<void>;
  /** Fills a new Pod with what was packed */
  readonly restore: (pod: LivePod, signal: AbortSignal | undefined) => Promise<void>;
  /** True if the session was packed by an earlier budgie */
  readonly isPacked: boolean;
};

const MOVE_LIMIT_MS = 10 * 60_000;

/** Creates the place of a session's Pod, in which there is none. */
export function createSessionPod(means: SessionPodMeans): SessionPod {
  const inTurn = pLimit(1);
  let present: { readonly pod: LivePod; readonly shape: PodOpening["shape"] } | undefined;
  let isLost = false;
  let { isPacked } = means;

  async function open(shape: PodOpening["shape"], wait: PodWait): Promise<LivePod> {
    if (isLost) throw lostError(means.session);
    if (present !== undefined && isDeepStrictEqual(present.shape, shape)) return present.pod;
    await leave(AbortSignal.timeout(MOVE_LIMIT_MS));
    const pod = await means.open(shape, wait);
    try {
      if (isPacked) await means.restore(pod, wait.signal);
    } catch (error) {
      await pod.remove().catch(() => undefined);
      throw error;
    }
    const mine = (present = { pod, shape });
    void pod.lost.then(() => (isLost ||= present === mine));
    return pod;
  }

  async function leave(signal: AbortSignal): Promise<void> {
    if (present === undefined || isLost) return;
    const { pod } = present;
    await means.pack(pod, signal);
    isPacked = true;
    present = undefined;
    await pod.remove();
  }

  return {
    open: (shape, wait) => inTurn(() => open(shape, wait)),
    present: () => inTurn(async () => (isLost ? undefined : present?.pod)),
    leave: (signal) => inTurn(() => leave(signal)),
    remove: () =>
      inTurn(async () => {
        const last = present?.pod;
        present = undefined;
        isLost = true;
        await last?.remove();
      }),
  };
}

function lostError(session: SessionId): BudgieError {
  return new BudgieError(
    "SESSION_UNUSABLE",
    `The session "${session}" was lost with its Pod. Leave its id out to begin a new one.`,
  );
}
