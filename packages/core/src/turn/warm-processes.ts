import { isDeepStrictEqual } from "node:util";
import type { ExecutableState } from "../changes/watch-executable-paths.ts";
import { BudgieError } from "../errors.ts";
import type { Policy } from "../policy/policy.ts";
import type { KeptProcess } from "../protocol/protocol.ts";
import type { AgentProcess, RunnerSession } from "../runner/runner.ts";
import type { SessionId } from "../runner/session-id.ts";
import { isMemoryShort as isHostShort } from "./is-memory-short.ts";
import { readStartFacts, type Start } from "./start-facts.ts";
import type { WatchOptions } from "./turn-report.ts";

/** The processes of agents that wait for the next turns of their sessions. */
export type WarmProcesses = {
  /** Returns the process that the session's last turn left if a start would create the same one; otherwise ends it and starts another. */
  start(home: RunnerSession, start: Start): Promise<AgentProcess>;
  /** Keeps a process that was started here until the session's next turn, at most for the idle time. */
  keep(session: SessionId, kept: KeptProcess): void;
  /**
   * Returns the state of the workspace when the last turn left a process, and a function that records the state at the end of this turn.
   */
  between(session: SessionId, policy: Pick<Policy, "workspace">): Pick<WatchOptions, "last" | "onEnd">;
};

export type WarmOptions = {
  /** The time after which a process without a turn ends */
  readonly idleMs: number;
  /** The number of processes above which the one that has waited longest is ended; default 8 */
  readonly most?: number | undefined;
  /** Returns true if the machine needs the processes' memory; default: if less than a tenth is available, on systems that report it */
  readonly isMemoryShort?: (() => boolean) | undefined;
  /** Default: 5 s */
  readonly lookEveryMs?: number | undefined;
};

const MOST = 8;
const MOST_NOTED = 64;
const LOOK_EVERY_MS = 5000;

/** Creates an empty table. Its timers do not keep the Node process alive. */
export function createWarmProcesses(options: WarmOptions): WarmProcesses {
  const { idleMs, isMemoryShort = isHostShort, lookEveryMs = LOOK_EVERY_MS, most = MOST } = options;
  const facts = new WeakMap<AgentProcess, unknown>();
  // The longest-waiting first.
  const waiting = new Map<SessionId, Waiting>();
  const ending = new Map<SessionId, Promise<unknown>>();
  const noted = new Map<SessionId, ExecutableState>();
  // The sessions whose present turns kept a process, which may have ended since.
  const kept = new Set<SessionId>();
  const departed = new Map<SessionId, AgentProcess["egress"]>();
  let looking: NodeJS.Timeout | undefined;

  function remove(session: SessionId): KeptProcess | undefined {
    const found = waiting.get(session);
    clearTimeout(found?.timer);
    waiting.delete(session);
    if (waiting.size === 0) {
      clearInterval(looking);
      looking = undefined;
    }
    return found?.kept;
  }

  async function end(session: SessionId): Promise<void> {
    const found = remove(session);
    if (found === undefined) return void (await ending.get(session));
    setNewest(departed, session, found.process.egress);
    const ended = toEnd(found).finally(() => ending.delete(session));
    // The session's next turn reports a failure, and the runner retries when it closes.
    ended.catch(() => undefined);
    ending.set(session, ended);
    await ended;
  }

  function endOldest(): void {
    const [oldest] = waiting.keys();
    if (oldest !== undefined) void end(oldest).catch(() => undefined);
  }

  async function take(
    session: SessionId,
    { asked, onDeparted }: Pick<Start, "onDeparted"> & { readonly asked: unknown },
  ): Promise<AgentProcess | undefined> {
    await ending.get(session);
    const child = waiting.get(session)?.kept.process;
    const isSame = child !== undefined && isDeepStrictEqual(facts.get(child), asked) && (await isCurrent(child));
    // It may have ended meanwhile.
    if (isSame && waiting.get(session)?.kept.process === child) return remove(session)?.process;
    await end(session);
    onDeparted(departed.get(session));
    departed.delete(session);
    return undefined;
  }

  return {
    async start(home, start) {
      const { command, options } = start;
      if (options.signal?.aborted === true) {
        throw new BudgieError("CANCELLED", "The turn was cancelled before it started.");
      }
      const asked = await readStartFacts(start);
      // The first snapshot of the workspace comes before a waiting process gets its prompt.
      if (waiting.has(home.id)) await options.ready;
      const taken = await take(home.id, { asked, onDeparted: start.onDeparted });
      if (taken !== undefined) return taken;
      const child = await home.start(command, options);
      facts.set(child, asked);
      return child;
    },
    keep(session, found) {
      kept.add(session);
      const timer = setTimeout(() => void end(session).catch(() => undefined), idleMs).unref();
      waiting.set(session, { kept: found, timer });
      const forget = (): void => {
        if (waiting.get(session)?.kept !== found) return;
        remove(session);
        setNewest(departed, session, found.process.egress);
      };
      found.process.exit.then(forget, forget);
      while (waiting.size > most) endOldest();
      if (isMemoryShort()) endOldest();
      if (waiting.size > 0) looking ??= setInterval(() => isMemoryShort() && endOldest(), lookEveryMs).unref();
    },
    between(session, { workspace }) {
      const last = noted.get(session);
      noted.delete(session);
      kept.delete(session);
      return {
        last,
        onEnd(state) {
          if (kept.delete(session) && workspace !== "ro") setNewest(noted, session, state);
        },
      };
    },
  };
}

/** Returns the table for these turns; `undefined` if executable paths are protected, since that would have to hold between turns too. */
export function toWarm(turns: {
  readonly protectExecutablePaths?: boolean;
  readonly warm?: WarmProcesses | undefined;
}): WarmProcesses | undefined {
  return turns.protectExecutablePaths === true ? undefined : turns.warm;
}

/** Sets an entry, and removes the oldest one if there are too many. */
function setNewest<Key, Value>(entries: Map<Key, Value>, key: Key, value: Value): void {
  entries.delete(key);
  entries.set(key, value);
  const [oldest] = entries.keys();
  if (entries.size > MOST_NOTED && oldest !== undefined) entries.delete(oldest);
}

type Waiting = { readonly kept: KeptProcess; readonly timer: NodeJS.Timeout };

/** Ends a process, and resolves when its network is closed too, so that the next process may have another. */
async function toEnd({ end, process }: KeptProcess): Promise<void> {
  await end();
  await Promise.allSettled([process.exit, process.egress]);
}

async function isCurrent({ isCurrent }: AgentProcess): Promise<boolean> {
  return (await isCurrent?.()) ?? true;
}
