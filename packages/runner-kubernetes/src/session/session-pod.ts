import { isDeepStrictEqual } from "node:util";
import pLimit from "p-limit";
import { BudgieError, type SessionId } from "@budgie/core";
import { orAborted } from "@budgie/core/bounds";
import type { LivePod } from "./live-pod.ts";
import type { PodWait } from "./await-pod.ts";
import type { PodOpening } from "./open-pod.ts";

/** The Pod of a session, which begins when something needs it, and which the session can leave for another one. */
export type OwnPod = {
  /**
   * Resolves to a Pod of this shape with all that the session has; default: the Pod that there is, or one of the usual shape. Rejects with
   * `SESSION_UNUSABLE` if what the session had was lost with its Pod
   */
  readonly open: (wait: Pick<PodWait, "signal">, shape?: PodOpening["shape"]) => Promise<LivePod>;
  /** Packs what the session has, and removes the Pod. A Pod that cannot be packed stays */
  readonly leave: (signal: AbortSignal) => Promise<void>;
  readonly remove: () => Promise<void>;
  /** True once what the session had was lost with its Pod */
  readonly isLost: () => boolean;
};

/** The means of a session's Pods. */
export type OwnPodMeans = {
  readonly session: SessionId;
  readonly usualShape: PodOpening["shape"];
  /**
   * The Pod that a dead owner left. Nobody knows how it was made and if its walls hold, so that it is only packed: the first use of the session
   * opens another one
   */
  readonly left?: LivePod | undefined;
  /** Opens a Pod with all that was packed of the session */
  readonly open: (shape: PodOpening["shape"], wait: Pick<PodWait, "signal">) => Promise<LivePod>;
  /** Packs what a Pod has of the session, for another one */
  readonly pack: (pod: LivePod, shape: PodOpening["shape"], signal: AbortSignal) => Promise<void>;
};

const MOVE_LIMIT_MS = 10 * 60_000;

/** Creates the place of a session's Pod. */
export function createSessionPod({ left, open: openNew, pack, session, usualShape }: OwnPodMeans): OwnPod {
  const inTurn = pLimit(1);
  /** The Pod that there is, with its shape unless that is unknown */
  let present: { readonly pod: LivePod; readonly shape: PodOpening["shape"] | undefined } | undefined;
  let isLost = false;
  /** A Pod that was packed, and whose removal failed */
  let old: LivePod | undefined;
  if (left !== undefined) enter(left, undefined);

  function enter(pod: LivePod, shape: PodOpening["shape"] | undefined): LivePod {
    const mine = (present = { pod, shape });
    void pod.lost.then(async () => {
      if (present !== mine) return;
      isLost = true;
      // It can be used no more, and its session may stay for days. The removal of that tries once more.
      await pod.remove().catch(() => undefined);
    });
    return pod;
  }

  async function open(wait: Pick<PodWait, "signal">, shape = present?.shape ?? usualShape): Promise<LivePod> {
    if (isLost) throw lostError(session);
    if (present?.shape !== undefined && isDeepStrictEqual(present.shape, shape)) return present.pod;
    const limit = AbortSignal.timeout(MOVE_LIMIT_MS);
    await leave(wait.signal === undefined ? limit : AbortSignal.any([limit, wait.signal]));
    return enter(await openNew(shape, wait), shape);
  }

  async function leave(signal: AbortSignal): Promise<void> {
    if (present !== undefined && !isLost) {
      const { pod, shape = usualShape } = present;
      await pack(pod, shape, signal);
      // A Pod that was lost after its last byte takes nothing with it.
      [old, present, isLost] = [pod, undefined, false];
    }
    await removeOld();
  }

  /** Removes the Pod that was left. No other one begins before, or the next owner could take the old one for it. */
  async function removeOld(): Promise<void> {
    await old?.remove();
    old = undefined;
  }

  /** Does a task after those before it, which may take minutes. The caller waits no longer than its signal says. */
  function doInTurn<T>(signal: AbortSignal | undefined, task: () => Promise<T>): Promise<T> {
    const turn = inTurn(() => {
      signal?.throwIfAborted();
      return task();
    });
    return orAborted(turn, signal);
  }

  return {
    open: (wait, shape) => doInTurn(wait.signal, () => open(wait, shape)),
    isLost: () => isLost,
    leave: (signal) => doInTurn(signal, () => leave(signal)),
    remove: () =>
      inTurn(async () => {
        isLost = true;
        await removeOld();
        await present?.pod.remove();
        present = undefined;
      }),
  };
}

function lostError(session: SessionId): BudgieError {
  return new BudgieError(
    "SESSION_UNUSABLE",
    `The session "${session}" was lost with its Pod. Leave its id out to begin a new one.`,
  );
}
