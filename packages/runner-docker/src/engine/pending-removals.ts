import { setTimeout as sleep } from "node:timers/promises";
import { BudgieError } from "@budgie/core";
import { hasNoAnswer, toBudgieError } from "./to-budgie-error.ts";

/** The removals of containers and volumes from an engine, which are retried while it does not answer. */
export type PendingRemovals = {
  /** Attempts a removal at once. If that fails, retries in the background until it succeeds or {@link PendingRemovals.close} is called. */
  remove(attempt: Attempt): Removal;
  /** Records the error of a call: after an unanswered call, removals do not wait for the engine for a while. */
  suspect(error: unknown): void;
  /** Records that the engine answered: removals wait for it again, and the pending ones are attempted now. */
  trust(): void;
  /** Attempts the pending removals once more, and ends the retries. Rejects if one fails. */
  close(): Promise<void>;
};

type Removal = {
  /** The first attempt; rejects with `RUNNER_UNAVAILABLE` unless the removal is confirmed */
  readonly firstAttempt: Promise<void>;
  /** Resolves once the removal is confirmed; never rejects, and stays pending if it never is */
  readonly gone: Promise<void>;
};

/** Removes something and confirms that it is gone. Idempotent. */
type Attempt = () => Promise<unknown>;

export type RemovalTimes = {
  /** Delay before the second attempt; it doubles with each further one */
  readonly delayMs: number;
  readonly longestDelayMs: number;
  /** Time during which an engine counts as silent after an unanswered call */
  readonly silenceMs: number;
  /** Time after which a silent engine has executed the requests that it had received */
  readonly aftermathMs: number;
};

const TIMES: RemovalTimes = { delayMs: 1000, longestDelayMs: 30_000, silenceMs: 30_000, aftermathMs: 5000 };

/** Creates the list of an engine's pending removals. */
export function createPendingRemovals(times: RemovalTimes = TIMES): PendingRemovals {
  const left = new Set<Attempt>();
  const closing = new AbortController();
  let waking = new AbortController();
  let silent: { readonly until: number; readonly cause: unknown } | undefined;

  function suspect(error: unknown): void {
    if (hasNoAnswer(error)) silent = { until: performance.now() + times.silenceMs, cause: error };
  }

  function trust(): void {
    silent = undefined;
    waking.abort();
    waking = new AbortController();
  }

  async function attemptNow(attempt: Attempt): Promise<void> {
    try {
      await attempt();
      trust();
    } catch (error) {
      suspect(error);
      throw unverifiedError(error);
    }
  }

  async function first(attempt: Attempt): Promise<void> {
    const isSilent = silent !== undefined && performance.now() < silent.until;
    // The final attempt is made even if the engine was silent.
    if (isSilent && !closing.signal.aborted) throw unverifiedError(silent?.cause);
    await attemptNow(attempt);
  }

  async function again(attempt: Attempt): Promise<void> {
    left.add(attempt);
    for (let delayMs = times.delayMs; left.has(attempt); delayMs = Math.min(2 * delayMs, times.longestDelayMs)) {
      await pause(delayMs, closing.signal, waking.signal);
      const isGone = await attemptNow(attempt).then(
        () => true,
        () => false,
      );
      if (isGone) left.delete(attempt);
    }
    // The engine may have answered this request before it executed an earlier one.
    await pause(times.aftermathMs, closing.signal);
    await attempt().catch(() => undefined);
  }

  return {
    remove(attempt) {
      const firstAttempt = first(attempt);
      return { firstAttempt, gone: firstAttempt.catch(() => again(attempt)) };
    },
    suspect,
    trust,
    async close() {
      closing.abort();
      const tries = Array.from(left, (attempt) => attemptNow(attempt).then(() => left.delete(attempt)));
      const failed = (await Promise.allSettled(tries)).find((result) => result.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    },
  };
}

/** Waits for `delayMs` or until `waking` aborts, and forever once `closing` has aborted. Does not keep the process alive. */
async function pause(delayMs: number, closing: AbortSignal, waking = closing): Promise<void> {
  const signal = AbortSignal.any([closing, waking]);
  await sleep(delayMs, undefined, { ref: false, signal }).catch(() => undefined);
  if (closing.aborted) await new Promise(() => undefined);
}

const UNVERIFIED =
  ` So a part of a turn or session may still run there. budgie retries its removal in the background; ` +
  `if budgie ends first, "budgie gc" removes it.`;

/** Returns the error of a stop or a removal that the engine did not confirm. */
export function unverifiedError(cause: unknown): unknown {
  const translated = toBudgieError(cause, "");
  if (!(translated instanceof BudgieError) || translated.message.endsWith(UNVERIFIED)) return translated;
  return new BudgieError("RUNNER_UNAVAILABLE", translated.message + UNVERIFIED, { cause });
}
