import { setTimeout as sleep } from "node:timers/promises";
import { BudgieError } from "@budgie/core";
import { hasNoAnswer, toBudgieError } from "./docker-errors.ts";

/** Sees to it that things go from an engine, also from one that does not answer just now. */
export type PendingRemovals = {
  /** Tries at once, and where that fails goes on behind the caller's back until it has gone or {@link Removals.close} is called. */
  remove(attempt: Attempt): Removal;
  /** Notes a call's error: an engine that just left one unanswered is not waited for again by each removal. */
  suspect(error: unknown): void;
  /** Notes that the engine answered: it is waited for again, and what is left is tried now. */
  trust(): void;
  /** Tries what is left once more, and from then on nothing twice. Rejects if something stays. */
  close(): Promise<void>;
};

type Removal = {
  /** The first try; rejects with `RUNNER_UNAVAILABLE` if it is not known that all has gone */
  readonly tried: Promise<void>;
  /** Never rejects, and never settles where it stays for good */
  readonly gone: Promise<void>;
};

/** Removes something and sees that it has gone; can be called again, whatever became of it before. */
type Attempt = () => Promise<unknown>;

export type RemovalTimes = {
  /** Before the second try; from then on it doubles */
  readonly delayMs: number;
  readonly longestDelayMs: number;
  /** How long an engine that left a call unanswered counts as silent */
  readonly silenceMs: number;
  /** After which what a silent engine had still been told to make is there */
  readonly aftermathMs: number;
};

const TIMES: RemovalTimes = { delayMs: 1000, longestDelayMs: 30_000, silenceMs: 30_000, aftermathMs: 5000 };

/** Creates the list of what is to go from an engine. */
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
      throw toUnverified(error);
    }
  }

  async function first(attempt: Attempt): Promise<void> {
    const isSilent = silent !== undefined && performance.now() < silent.until;
    // The last try of all is made whatever was before.
    if (isSilent && !closing.signal.aborted) throw toUnverified(silent?.cause);
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
    // It may have answered this before what it was asked earlier.
    await pause(times.aftermathMs, closing.signal);
    await attempt().catch(() => undefined);
  }

  return {
    remove(attempt) {
      const tried = first(attempt);
      return { tried, gone: tried.catch(() => again(attempt)) };
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

/** Waits until it is woken at the latest, or for ever if nothing is to be tried any more; keeps no program alive. */
async function pause(delayMs: number, closing: AbortSignal, waking = closing): Promise<void> {
  const signal = AbortSignal.any([closing, waking]);
  await sleep(delayMs, undefined, { ref: false, signal }).catch(() => undefined);
  if (closing.aborted) await new Promise(() => undefined);
}

const UNVERIFIED =
  ` So something of a turn or session may still run there. budgie goes on removing it until it has gone; ` +
  `if budgie ends first, "budgie gc-volumes" does.`;

/** The error of a stop or a removal of which the engine did not say that it is done. */
export function toUnverified(cause: unknown): unknown {
  const told = toBudgieError(cause, "");
  if (!(told instanceof BudgieError) || told.message.endsWith(UNVERIFIED)) return told;
  return new BudgieError("RUNNER_UNAVAILABLE", told.message + UNVERIFIED, { cause });
}
