import { isDeepStrictEqual } from "node:util";
import pLimit from "p-limit";
import { BudgieError, type SessionId } from "@budgie/core";
import type { LivePod } from "./live-pod.ts";
import type { PodWait } from "./await-pod.ts";
import type { PodOpening } from "./open-pod.ts";

/** The Pod of a session, which begins when something needs it, and which the session can leave for another one. */
export type OwnPod = {
  /**
   * Resolves to a Pod of this shape with all that the session has, in which a process can be started; default: the Pod that there is, whatever
   * became of its agent's container, or one of the usual shape. Rejects with
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
  /** The Pod that a dead owner left */
  readonly left?: LivePod | undefined;
  /** Opens a Pod with all that was packed of the session */
  readonly open: (shape: PodOpening["shape"], wait: Pick<PodWait, "signal">) => Promise<LivePod>;
  /** Tells if a process can be started in a Pod: its agent's container may have ended, and left all that the session has */
  readonly isUsable: (pod: LivePod) => Promise<boolean>;
  /** Packs what a Pod has of the session, for another one */
  readonly pack: (pod: LivePod, shape: PodOpening["shape"], signal: AbortSignal) => Promise<void>;
};

const MOVE_LIMIT_MS = 10 * 60_000;

/** Creates the place of a session's Pod. */
export function createSessionPod(means: OwnPodMeans): OwnPod {
  const { isUsable, left, open: openNew, pack, session, usualShape } = means;
  const inTurn = pLimit(1);
  let present: { readonly pod: LivePod; readonly shape: PodOpening["shape"] } | undefined;
  let isLost = false;
  if (left !== undefined) enter(left, usualShape);

  function enter(pod: LivePod, shape: PodOpening["shape"]): LivePod {
    const mine = (present = { pod, shape });
    void pod.lost.then(() => (isLost ||= present === mine));
    return pod;
  }

  async function open(wait: Pick<PodWait, "signal">, asked: PodOpening["shape"] | undefined): Promise<LivePod> {
    if (isLost) throw lostError(session);
    const shape = asked ?? present?.shape ?? usualShape;
    if (present !== undefined && isDeepStrictEqual(present.shape, shape)) {
      // Whoever asks for no shape starts nothing.
      if (asked === undefined || (await isUsable(present.pod))) return present.pod;
    }
    await leave(AbortSignal.timeout(MOVE_LIMIT_MS));
    return enter(await openNew(shape, wait), shape);
  }

  async function leave(signal: AbortSignal): Promise<void> {
    if (present === undefined || isLost) return;
    const { pod, shape } = present;
    await pack(pod, shape, signal);
    // A Pod that was lost after its last byte takes nothing with it.
    [present, isLost] = [undefined, false];
    await pod.remove();
  }

  return {
    open: (wait, shape) => inTurn(() => open(wait, shape)),
    isLost: () => isLost,
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
