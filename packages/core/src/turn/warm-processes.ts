import { freemem, platform, totalmem } from "node:os";
import { isDeepStrictEqual } from "node:util";
import type { ExecutableState } from "../changes/watch-executable-paths.ts";
import { BudgieError } from "../errors.ts";
import type { Policy } from "../policy/policy.ts";
import type { KeptProcess } from "../protocol/protocol.ts";
import type { AgentProcess, RunnerSession } from "../runner/runner.ts";
import type { SessionId } from "../runner/session-id.ts";
import { readStartFacts, type Start } from "./start-facts.ts";
import type { WatchOptions } from "./turn-report.ts";

/** The processes of agents that wait for the next turns of their sessions. */
export type WarmProcesses = {
  /** Returns the process that the session's last turn left if a start would make the same one; else ends that one, and starts one. */
  start(home: RunnerSession, start: Start): Promise<AgentProcess>;
  /** Keeps a process that was started here until the session's next turn, at most for the idle time. */
  keep(session: SessionId, kept: KeptProcess): void;
  /** Returns the state of the workspace when the last turn left a process, and a function that keeps the one that this turn ends with. */
  between(session: SessionId, policy: Pick<Policy, "workspace">): Pick<WatchOptions, "last" | "onEnd">;
};

export type WarmOptions = {
  /** The time after which a process without a turn ends */
  readonly idleMs: number;
  /** The number of processes above which the one that waits longest ends; default 8 */
  readonly most?: number | undefined;
  /** Returns true if the machine needs the processes' memory; default below a tenth, where the system tells what is available */
  readonly isMemoryShort?: (() => boolean) | undefined;
  /** Default: 5 s */
  readonly lookEveryMs?: number | undefined;
};

const MOST = 8;
const LOOK_EVERY_MS = 5000;

/** Creates an empty table. Its timers keep no process alive. */
export function createWarmProcesses(options: WarmOptions): WarmProcesses {
  const { idleMs, isMemoryShort = isHostShort, lookEveryMs = LOOK_EVERY_MS, most = MOST } = options;
  const facts = new WeakMap<AgentProcess, unknown>();
  // The one that waits longest first.
  const waiting = new Map<SessionId, Waiting>();
  const ending = new Map<SessionId, Promise<unknown>>();
  const noted = new Map<SessionId, ExecutableState>();
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
    const kept = remove(session);
    if (kept === undefined) return;
    const ended = toEnd(kept).finally(() => ending.delete(session));
    // The session's next turn reports a failure, and the runner's own end retries.
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
    { asked, onReplaced }: Pick<Start, "onReplaced"> & { readonly asked: unknown },
  ): Promise<AgentProcess | undefined> {
    await ending.get(session);
    const child = waiting.get(session)?.kept.process;
    if (child === undefined) return undefined;
    const isSame = isDeepStrictEqual(facts.get(child), asked) && (await isCurrent(child));
    // It may have ended meanwhile.
    if (isSame && waiting.get(session)?.kept.process === child) return remove(session)?.process;
    await end(session);
    onReplaced(child);
    return undefined;
  }

  return {
    async start(home, start) {
      const { command, options } = start;
      if (options.signal?.aborted === true) {
        throw new BudgieError("CANCELLED", "The turn was cancelled before it started.");
      }
      const asked = await readStartFacts(start);
      // The report's first look at the workspace comes before a process that waits is asked anything.
      if (waiting.has(home.id)) await options.ready;
      const taken = await take(home.id, { asked, onReplaced: start.onReplaced });
      if (taken !== undefined) return taken;
      const child = await home.start(command, options);
      facts.set(child, asked);
      return child;
    },
    keep(session, kept) {
      const timer = setTimeout(() => void end(session).catch(() => undefined), idleMs).unref();
      waiting.set(session, { kept, timer });
      const forget = (): void => void (waiting.get(session)?.kept === kept && remove(session));
      kept.process.exit.then(forget, forget);
      while (waiting.size > most) endOldest();
      if (isMemoryShort()) endOldest();
      if (waiting.size > 0) looking ??= setInterval(() => isMemoryShort() && endOldest(), lookEveryMs).unref();
    },
    between(session, { workspace }) {
      const last = noted.get(session);
      noted.delete(session);
      return {
        last,
        onEnd(state) {
          if (!waiting.has(session) || workspace === "ro") return;
          noted.set(session, state);
          const [oldest] = noted.keys();
          if (noted.size > most && oldest !== undefined) noted.delete(oldest);
        },
      };
    },
  };
}

/** Returns the table of turns; `undefined` for protected ones, whose promise would have to hold between turns too. */
export function toWarm(turns: {
  readonly protectExecutablePaths?: boolean;
  readonly warm?: WarmProcesses | undefined;
}): WarmProcesses | undefined {
  return turns.protectExecutablePaths === true ? undefined : turns.warm;
}

type Waiting = { readonly kept: KeptProcess; readonly timer: NodeJS.Timeout };

/** Ends a process, and resolves when its network is closed too, so that the next one may have another. */
async function toEnd({ end, process }: KeptProcess): Promise<void> {
  await end();
  await Promise.allSettled([process.exit, process.egress]);
}

async function isCurrent({ isCurrent }: AgentProcess): Promise<boolean> {
  return (await isCurrent?.()) ?? true;
}

const LEAST_AVAILABLE = 0.1;

function isHostShort(): boolean {
  // Other systems count memory that they use for files as used.
  return platform() === "linux" && freemem() < LEAST_AVAILABLE * totalmem();
}
