/** Removes one kind of garbage. Resolves to a line for each failure. */
export type Sweep = () => Promise<readonly string[]>;

export type SweeperOptions = {
  /** Run one after the other */
  readonly sweeps: readonly Sweep[];
  readonly report: (line: string) => void;
  /** 0 disables the sweeper */
  readonly intervalMs: number;
};

/** A background task that removes garbage at intervals. */
export type Sweeper = {
  /** Schedules the first sweep, unless it was scheduled before. */
  readonly begin: () => void;
  readonly stop: () => void;
};

// Leaves the first call time to start its container.
const FIRST_DELAY_MS = 1_000;
// A timer with a longer delay fires at once.
const LONGEST_TIMER_MS = 2 ** 31 - 1;
// Keeps budgies that were started together from sweeping together.
const JITTER = 0.2;

/** Creates a sweeper. It keeps no process alive and fails no call. It reports failures once, until a sweep succeeds. */
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
    for (const one of sweeps) problems.push(...(await one().catch(listProblems)));
    if (problems.length > 0 && !isReported && !isStopped) report(formatProblems(problems));
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

function listProblems(error: unknown): readonly string[] {
  return [error instanceof Error ? error.message : String(error)];
}

function formatProblems([first = "", ...rest]: readonly string[]): string {
  const more = rest.length === 0 ? "" : ` (and ${rest.length} more)`;
  return `Could not remove everything that dead budgies left behind, and will try again: ${first}${more}`;
}
