import { BudgieError } from "../errors.ts";
import { toCountText } from "../text/text.ts";
import type { TurnLimits } from "./turn-limits.ts";
import type { TurnRate } from "./turn-rate.ts";

export type TurnPhase =
  | {
      readonly phase: "waiting";
      /** In the line of all that wait: 1 for the next */
      readonly position: number;
    }
  /** It has its place, and its session is opened, and its process made */
  | { readonly phase: "starting" }
  | {
      readonly phase: "running";
      /** 2 when the first timed out or crashed */
      readonly tries: number;
    };

/** Whose turn it is, and how its caller follows it. */
type ComingTurn = {
  readonly signal?: AbortSignal | undefined;
  readonly agent: string;
  readonly onPhase?: (phase: TurnPhase) => void;
  /** `undefined` for one that begins a session: to the others it is one with a single turn */
  readonly session: string | undefined;
};

/** Says which session a turn is one of, of one that begins it: those that are called meanwhile wait for it. */
type JoinSession = (session: string) => void;

/** Decides which turn runs when. */
export type TurnQueue = {
  /**
   * Runs a turn when the turns before it in its session are over and the limits let it; sessions are served by turns, each in
   * its own order. Throws `QUEUE_FULL` where too many wait, `RATE_LIMITED`, and `CANCELLED` for one whose caller gave up waiting.
   */
  readonly run: <T>(turn: ComingTurn, task: (join: JoinSession) => Promise<T>) => Promise<T>;
};

// Positions are for people, and a long queue would send each of them to each that waits.
const TELL_EVERY_MS = 500;

/**
 * Creates the queue, empty. The libraries at hand have one order or priorities (p-queue, fastq), or a queue for each key and no
 * bound on all (fair-task-pool); none has limits of two kinds, takes turns between keys and knows positions.
 */
export function createTurnQueue(limits: TurnLimits, rate: TurnRate): TurnQueue {
  // The session at the front is served next if it may be, and goes to the end once it was.
  const line: Lane[] = [];
  const running: RunningTurn[] = [];
  let telling: NodeJS.Timeout | undefined;

  function mayBegin({ agent, session }: Pick<ComingTurn, "agent" | "session">): boolean {
    if (running.length >= limits.concurrent) return false;
    if (session !== undefined && running.some((other) => other.session === session)) return false;
    return running.filter((other) => other.agent === agent).length < (limits.agents.get(agent) ?? limits.concurrent);
  }

  /** Resolves when the turn may run, and counts as running. */
  function enter(turn: ComingTurn): Promise<RunningTurn> {
    if (turn.signal?.aborted === true) throw toCancelled(turn);
    const mustWait = findLane(line, turn) !== undefined || !mayBegin(turn);
    if (mustWait && toOrder(line).length >= limits.queued) throw toFull(turn, limits, running.length);
    rate.take(turn.agent, turn.session);
    return new Promise((begin, fail) => {
      const leave = (): void => {
        removeWaiting(line, waiting);
        fail(toCancelled(turn));
        tellSoon();
      };
      const waiting: Waiting = { turn, begin, leave, told: undefined };
      turn.signal?.addEventListener("abort", leave, { once: true });
      addWaiting(line, waiting);
      serve();
      if (mustWait) tellOne(waiting, toOrder(line).indexOf(waiting) + 1);
      tellSoon();
    });
  }

  /** Who may not begin yet keeps its place, and holds nobody up. */
  function serve(): void {
    for (let lane = line.find(mayBegin); lane !== undefined; lane = line.find(mayBegin)) {
      const next = lane.waiting.shift();
      line.splice(line.indexOf(lane), 1);
      if (lane.waiting.length > 0) line.push(lane);
      if (next === undefined) continue;
      const begun = { agent: next.turn.agent, session: next.turn.session };
      running.push(begun);
      next.turn.signal?.removeEventListener("abort", next.leave);
      next.begin(begun);
    }
  }

  function tellSoon(): void {
    telling ??= setTimeout(() => {
      telling = undefined;
      for (const [index, waiting] of toOrder(line).entries()) tellOne(waiting, index + 1);
    }, TELL_EVERY_MS).unref();
  }

  return {
    async run(turn, task) {
      const begun = await enter(turn);
      try {
        turn.onPhase?.({ phase: "starting" });
        return await task((session) => void (begun.session = session));
      } finally {
        running.splice(running.indexOf(begun), 1);
        serve();
        tellSoon();
      }
    },
  };
}

type RunningTurn = Pick<ComingTurn, "agent"> & {
  /** `undefined` before one that begins a session has opened it */
  session: string | undefined;
};

type Waiting = {
  readonly turn: ComingTurn;
  readonly begin: (begun: RunningTurn) => void;
  readonly leave: () => void;
  /** The position that its caller knows of */
  told: number | undefined;
};

/** A session's turns that wait, in the order they came; there is always one. */
type Lane = {
  readonly agent: string;
  readonly session: string | undefined;
  readonly waiting: Waiting[];
};

function findLane(line: readonly Lane[], { session }: ComingTurn): Lane | undefined {
  return session === undefined ? undefined : line.find((lane) => lane.session === session);
}

function addWaiting(line: Lane[], waiting: Waiting): void {
  const { agent, session } = waiting.turn;
  const lane = findLane(line, waiting.turn);
  if (lane === undefined) line.push({ agent, session, waiting: [waiting] });
  else lane.waiting.push(waiting);
}

function removeWaiting(line: Lane[], gone: Waiting): void {
  const lane = line.find(({ waiting }) => waiting.includes(gone));
  if (lane === undefined) return;
  lane.waiting.splice(lane.waiting.indexOf(gone), 1);
  if (lane.waiting.length === 0) line.splice(line.indexOf(lane), 1);
}

/** All that wait, as they will be served if none is held back: first the first of each session, then the second of each. */
function toOrder(line: readonly Lane[]): readonly Waiting[] {
  const rounds = line.flatMap(({ waiting }) => waiting.map((each, round) => ({ each, round })));
  return rounds.toSorted((a, b) => a.round - b.round).map(({ each }) => each);
}

function tellOne(waiting: Waiting, position: number): void {
  if (waiting.told === position) return;
  waiting.told = position;
  waiting.turn.onPhase?.({ phase: "waiting", position });
}

function toCancelled({ agent, session }: ComingTurn): BudgieError {
  return new BudgieError("CANCELLED", `The turn of "${agent}" was cancelled before it began.`, {
    report: { sessionId: session },
  });
}

function toFull({ agent, session }: ComingTurn, { queued }: TurnLimits, running: number): BudgieError {
  const [wait, run] = [toCountText(queued), toCountText(running)];
  return new BudgieError(
    "QUEUE_FULL",
    `No more turns may wait: ${wait} do, which is what --max-queued allows, and ${run} run. Nothing was started for ` +
      `"${agent}". Call again when some of them are over.`,
    { report: { sessionId: session } },
  );
}
