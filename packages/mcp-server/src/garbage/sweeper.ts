/** Removes one kind of garbage, and answers with what it could not do. */
export type Sweep = () => Promise<readonly string[]>;

export type SweeperOptions = {
  /** Done one after the other */
  readonly sweeps: readonly Sweep[];
  readonly report: (line: string) => void;
  /** 0 for never */
  readonly intervalMs: number;
};

/** Removes from time to time what others left, besides the work. */
export type Sweeper = {
  /** Begins a moment later, and goes on until it is stopped; cheap to repeat. */
  readonly begin: () => void;
  readonly stop: () => void;
};

// The first call starts its container meanwhile.
const FIRST_DELAY_MS = 1_000;
// A timer that is set for longer goes off at once.
const LONGEST_TIMER_MS = 2 ** 31 - 1;
// Budgies that one client starts together do not go on together.
const JITTER = 0.2;

/** Creates a sweeper. It keeps no process alive, fails no call, and tells of trouble once until there is none any more. */
export function createSweeper({ intervalMs, report, sweeps }: SweeperOptions): Sweeper {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let isReported = false;

  function plan(delayMs: number): void {
    if (isStopped) return;
    const jittered = delayMs * (1 + JITTER * (2 * Math.random() - 1));
    timer = setTimeout(() => void sweep(), Math.min(jittered, LONGEST_TIMER_MS)).unref();
  }

  async function sweep(): Promise<void> {
    const problems: string[] = [];
    for (const one of sweeps) problems.push(...(await one().catch(toProblems)));
    if (problems.length > 0 && !isReported && !isStopped) report(toLine(problems));
    isReported = problems.length > 0;
    plan(intervalMs);
  }

  return {
    begin() {
      if (timer === undefined && intervalMs > 0) plan(Math.min(FIRST_DELAY_MS, intervalMs));
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

function toProblems(error: unknown): readonly string[] {
  return [error instanceof Error ? error.message : String(error)];
}

function toLine([first = "", ...rest]: readonly string[]): string {
  const more = rest.length === 0 ? "" : ` (and ${rest.length} more)`;
  return `Could not remove all that budgies which are gone left behind, and will try again: ${first}${more}`;
}
