import { BudgieError, formatOption } from "@budgie/core";
import type { PodState } from "../api/index.ts";
import type { FollowedPods } from "./follow-pods.ts";

/** The wait of a session for its Pod. */
export type PodWait = {
  /** The most time that it takes */
  readonly limitMs: number;
  /** Hears what it waits for, as a clause for people */
  readonly onWait?: ((why: string) => void) | undefined;
  /** Hears again and again that the cluster has no room, so that others can make some */
  readonly onFull?: (() => void) | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** The time between two looks for room. */
export const FULL_PAUSE_MS = 2_000;

/** Resolves when a Pod runs. Rejects with the reason of one that failed, with `QUEUE_FULL` after the limit, or with `CANCELLED`. */
export async function awaitPod(pods: FollowedPods, name: string, wait: PodWait): Promise<void> {
  let why = "the cluster has not reported the Pod's state yet";
  let unfollow: () => void = () => undefined;
  const limit = AbortSignal.timeout(wait.limitMs);
  // Neither the limit nor a watch between two connections keeps a command's process from its end.
  const alive = setTimeout(() => undefined, wait.limitMs);
  let isFull = false;
  const asking = setInterval(() => (isFull ? wait.onFull?.() : undefined), FULL_PAUSE_MS);
  const signal = AbortSignal.any([limit, ...(wait.signal === undefined ? [] : [wait.signal])]);
  try {
    await new Promise<void>((resolve, reject) => {
      const stop = (): void => reject(limit.aborted ? fullError(name, why) : cancelledError());
      signal.addEventListener("abort", stop, { once: true });
      if (signal.aborted) stop();
      const hear = (state: PodState | undefined): void => {
        isFull = state?.state === "waiting" && state.isFull === true;
        if (state === undefined) reject(goneError(name));
        else if (state.state === "running") resolve();
        else if (state.state === "failed") reject(state.error);
        else if (state.why !== why) {
          why = state.why;
          wait.onWait?.(why);
        }
      };
      unfollow = pods.follow(name, hear);
    });
  } finally {
    clearTimeout(alive);
    clearInterval(asking);
    unfollow();
  }
}

/** Returns the error of a session that got no place on the cluster in time. */
export function fullError(name: string, why: string): BudgieError {
  return new BudgieError(
    "QUEUE_FULL",
    `The cluster had no place for the Pod "${name}" in time (${why}). Try again later, or raise ${formatOption("waitMs")}.`,
  );
}

/** Returns the error of a wait that was cancelled. */
export function cancelledError(): BudgieError {
  return new BudgieError("CANCELLED", "The turn was cancelled before its Pod ran.");
}

function goneError(name: string): BudgieError {
  return new BudgieError("AGENT_CRASHED", `The Pod "${name}" was deleted by somebody else. Try again.`);
}
