import { BudgieError } from "../errors.ts";
import { formatOption } from "../option-name.ts";
import { formatCount } from "../text/truncate-text.ts";
import type { Phase } from "../protocol/turn-events.ts";
import type { TurnLimits } from "./turn-limits.ts";
import type { TurnRate } from "./turn-rate.ts";

/** A turn to queue, and how its caller follows it. */
type QueueEntry = {
  readonly signal?: AbortSignal | undefined;
  readonly agent: string;
  readonly onPhase?: (phase: Phase) => void;
  /** `undefined` for a turn that begins a session */
  readonly session: string | undefined;
};

/** The place of a running turn. */
type Slot = {
  /** Sets the session of a turn that begins one, so that later turns in the session wait for it. */
  readonly join: (session: string) => void;
  /** Makes room for the next turn. */
  readonly leave: () => void;
};

/** The queue of turns. */
export type TurnQueue = {
  /**
   * Resolves when the earlier turns in the turn's session have left and the limits allow it. Sessions are served round-robin, each in its
   * own order. Throws `QUEUE_FULL` if too many turns wait, `RATE_LIMITED`, and `CANCELLED` if the caller cancels while waiting.
   */
  readonly enter: (turn: QueueEntry) => Promise<Slot>;
};

// Positions are for people, and a long queue would send a notification to every waiting caller at each change.
const NOTIFY_EVERY_MS = 500;

/**
 * Creates an empty queue. Libraries have a single order or priorities (p-queue, fastq), or a queue per key without an overall bound
 * (fair-task-pool). None combines two kinds of limits, round-robin over keys, and positions.
 */
export function createTurnQueue(limits: TurnLimits, rate: TurnRate): TurnQueue {
  // The session at the front is served next if the limits allow it, and then moves to the end.
  const line: Lane[] = [];
  const running: Running[] = [];
  let notifying: NodeJS.Timeout | undefined;

  function mayBegin({ agent, session }: Pick<QueueEntry, "agent" | "session">): boolean {
    if (running.length >= limits.concurrent) return false;
    if (session !== undefined && running.some((other) => other.session === session)) return false;
    return running.filter((other) => other.agent === agent).length < (limits.agents.get(agent) ?? limits.concurrent);
  }

  /** Resolves when the turn may run, and counts as running. */
  function begin(turn: QueueEntry): Promise<Running> {
    if (turn.signal?.aborted === true) throw cancelledError(turn);
    const mustWait = findLane(line, turn) !== undefined || !mayBegin(turn);
    if (mustWait && listInOrder(line).length >= limits.queued) throw fullError(turn, limits, running.length);
    rate.take(turn.agent, turn.session);
    return new Promise((resolve, fail) => {
      const cancel = (): void => {
        removeWaiting(line, waiting);
        fail(cancelledError(turn));
        notifySoon();
      };
      const waiting: Waiting = { turn, begin: resolve, cancel, notified: undefined };
      turn.signal?.addEventListener("abort", cancel, { once: true });
      addWaiting(line, waiting);
      serve();
      if (mustWait) notify(waiting, listInOrder(line).indexOf(waiting) + 1);
      notifySoon();
    });
  }

  /** Starts all turns that may begin. The others keep their places, and block no other session. */
  function serve(): void {
    for (let lane = line.find(mayBegin); lane !== undefined; lane = line.find(mayBegin)) {
      const next = lane.waiting.shift();
      line.splice(line.indexOf(lane), 1);
      if (lane.waiting.length > 0) line.push(lane);
      if (next === undefined) continue;
      const begun = { agent: next.turn.agent, session: next.turn.session };
      running.push(begun);
      next.turn.signal?.removeEventListener("abort", next.cancel);
      next.begin(begun);
    }
  }

  function notifySoon(): void {
    notifying ??= setTimeout(() => {
      notifying = undefined;
      for (const [index, waiting] of listInOrder(line).entries()) notify(waiting, index + 1);
    }, NOTIFY_EVERY_MS).unref();
  }

  return {
    async enter(turn) {
      const begun = await begin(turn);
      const leave = (): void => {
        running.splice(running.indexOf(begun), 1);
        serve();
        notifySoon();
      };
      try {
        turn.onPhase?.({ phase: "starting" });
      } catch (error) {
        leave();
        throw error;
      }
      return { join: (session) => void (begun.session = session), leave };
    },
  };
}

type Running = Pick<QueueEntry, "agent"> & {
  /** `undefined` until a turn that begins a session has opened it */
  session: string | undefined;
};

type Waiting = {
  readonly turn: QueueEntry;
  readonly begin: (begun: Running) => void;
  readonly cancel: () => void;
  /** The position that the caller was last notified of */
  notified: number | undefined;
};

/** The waiting turns of a session, in the order of their calls; never empty. */
type Lane = {
  readonly agent: string;
  readonly session: string | undefined;
  readonly waiting: Waiting[];
};

function findLane(line: readonly Lane[], { session }: QueueEntry): Lane | undefined {
  return session === undefined ? undefined : line.find((lane) => lane.session === session);
}

function addWaiting(line: Lane[], waiting: Waiting): void {
  const { agent, session } = waiting.turn;
  const lane = findLane(line, waiting.turn);
  if (lane === undefined) line.push({ agent, session, waiting: [waiting] });
  else lane.waiting.push(waiting);
}

function removeWaiting(line: Lane[], removed: Waiting): void {
  const lane = line.find(({ waiting }) => waiting.includes(removed));
  if (lane === undefined) return;
  lane.waiting.splice(lane.waiting.indexOf(removed), 1);
  if (lane.waiting.length === 0) line.splice(line.indexOf(lane), 1);
}

/** Lists all waiting turns in the order of service: first the first of each session, then the second of each. */
function listInOrder(line: readonly Lane[]): readonly Waiting[] {
  const rounds = line.flatMap(({ waiting }) => waiting.map((each, round) => ({ each, round })));
  return rounds.toSorted((a, b) => a.round - b.round).map(({ each }) => each);
}

function notify(waiting: Waiting, position: number): void {
  if (waiting.notified === position) return;
  waiting.notified = position;
  waiting.turn.onPhase?.({ phase: "waiting", position });
}

function cancelledError({ agent, session }: QueueEntry): BudgieError {
  return new BudgieError("CANCELLED", `The turn of "${agent}" was cancelled before it began.`, {
    report: { sessionId: session },
  });
}

function fullError({ agent, session }: QueueEntry, { queued }: TurnLimits, running: number): BudgieError {
  const [wait, run] = [formatCount(queued), formatCount(running)];
  return new BudgieError(
    "QUEUE_FULL",
    `The queue is full: ${wait} turns wait, the most that ${formatOption("queued")} allows, and ${run} run. Nothing was started for ` +
      `"${agent}". Call again when some of them have ended.`,
    { report: { sessionId: session } },
  );
}
