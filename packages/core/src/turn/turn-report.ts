import {
  watchExecutablePaths,
  type ExecutableChanges,
  type ExecutableState,
  type ExecutableWatch,
} from "../changes/watch-executable-paths.ts";
import type { EgressCount, EgressDenial, EgressReport } from "../egress.ts";
import { BudgieError, type FailureReport, type TurnReport } from "../errors.ts";
import { toOption } from "../options.ts";
import type { RunLog } from "../runs/run-log.ts";
import type { Reply } from "./turn.ts";

/** Adds the facts from `collect` to the reply of `turn`, or to the `BudgieError` that it or `check` throws. */
export async function withReport<Answer extends object, Facts extends FailureReport>(
  turn: () => Promise<Answer>,
  collect: (outcome: Answer | BudgieError) => Facts | Promise<Facts>,
  check?: (reply: Answer) => Promise<void>,
): Promise<Answer & Facts> {
  let reply: Answer;
  try {
    reply = await turn();
    await check?.(reply);
  } catch (error) {
    if (error instanceof BudgieError) error.report = { ...error.report, ...(await collect(error)) };
    throw error;
  }
  return { ...reply, ...(await collect(reply)) };
}

export type WatchOptions = {
  readonly directory: string;
  /** Makes a turn that redirects git fail */
  readonly isProtected: boolean;
  /** Default {@link watchExecutablePaths} */
  readonly watch?: WatchDirectory | undefined;
  /** The state at the end of the earlier turn that left a process for this one; default: none */
  readonly last?: ExecutableState | undefined;
  /** Called with the state at the end of the turn */
  readonly onEnd?: ((state: ExecutableState) => void) | undefined;
};

/** Begins to watch a directory for executable paths that a turn changes. */
export type WatchDirectory = (directory: string, open?: undefined, last?: ExecutableState) => ExecutableWatch;

export type WatchedTurn = {
  /** Resolves when the agent's processes may run */
  readonly ready: Promise<unknown>;
  readonly tally: EgressTally;
};

/**
 * Reports a turn's network access and its changes of executable paths. Throws `GIT_REDIRECTED` for a protected turn that
 * redirected git.
 */
export function withChangesAndEgress<Answer extends Pick<Reply, "response" | "warnings">>(
  { directory, isProtected, last, onEnd, watch: toWatch = watchExecutablePaths }: WatchOptions,
  turn: (watched: WatchedTurn) => Promise<Answer>,
): Promise<Answer & Pick<TurnReport, "changedExecutablePaths" | "egress" | "warnings">> {
  const watch = toWatch(directory, undefined, last);
  const tally = createEgressTally();
  let changes: Promise<ExecutableChanges> | undefined;
  const findChanges = (): Promise<ExecutableChanges> => (changes ??= watch.findChanges());

  async function checkGit(reply: Answer): Promise<void> {
    const { gitChanges } = await findChanges();
    if (isProtected && gitChanges.length > 0) throw toRedirected(directory, gitChanges, reply);
  }

  async function collect(outcome: Answer | BudgieError) {
    const { warnings = [] } = outcome instanceof BudgieError ? outcome.report : outcome;
    const found = await findChanges();
    if (found.state !== undefined) onEnd?.(found.state);
    return {
      changedExecutablePaths: found.changedExecutablePaths,
      egress: await tally.total(),
      warnings: [...warnings, ...found.warnings],
    };
  }

  return withReport(() => turn({ ready: watch.ready, tally }), collect, checkGit);
}

const MOST_NAMED = 5;

function toRedirected(
  directory: string,
  gitChanges: readonly string[],
  { response }: Pick<Reply, "response">,
): BudgieError {
  const named = gitChanges.slice(0, MOST_NAMED).join(" ");
  return new BudgieError(
    "GIT_REDIRECTED",
    `The turn redirected git by paths that ${toOption("protectExecutablePaths")} cannot protect. ${named} ` +
      `Run no git in "${directory}" or below before you have looked at these paths, and removed or restored them.`,
    { report: { response } },
  );
}

type Caller = { readonly agent: string; readonly sessionId: string };

/** Reports the undelivered answers of the session that a turn resumes. */
export function withUndelivered<Answer extends { readonly runId: string }>(
  log: RunLog,
  caller: Caller,
  turn: () => Promise<Answer>,
): Promise<Answer & Pick<TurnReport, "missed" | "moreMissed">> {
  // Read after the turn, because the answer of a turn that it waited for may still have been on its way.
  return withReport(turn, async (outcome) => {
    // The caller named another agent or directory than the session's, so the answers may not be for it.
    if (outcome instanceof BudgieError && outcome.code === "INPUT_INVALID") return { missed: [] };
    const except = outcome instanceof BudgieError ? undefined : outcome.runId;
    const { missed, moreMissed } = await log.undelivered({ ...caller, except });
    return moreMissed === 0 ? { missed } : { missed, moreMissed };
  });
}

/** The sum of the network access of a turn's processes. */
export type EgressTally = {
  readonly add: (report: Promise<EgressReport> | undefined) => void;
  /** Resolves when all processes have ended; to `undefined` if none was monitored */
  readonly total: () => Promise<EgressReport | undefined>;
};

// As in a proxy's own log: an agent may ask for as many names as it likes.
const MOST_ENTRIES = 200;
const OTHERS = { host: "(others)", port: 0 } as const;

function createEgressTally(): EgressTally {
  const pending = new Set<Promise<void>>();
  const [allowed, denied] = [new Map<string, EgressCount>(), new Map<string, EgressDenial>()];
  let isMonitored = false;
  return {
    add(report) {
      if (report === undefined) return;
      isMonitored = true;
      const added: Promise<void> = report.then((since) => {
        for (const one of since.allowed) addTo(allowed, one, { key: toHostKey, others: { ...one, ...OTHERS } });
        for (const one of since.denied) addTo(denied, one, { key: toDenialKey, others: { ...one, ...OTHERS } });
        pending.delete(added);
      });
      // `total` rejects too; this only avoids an unhandled rejection before it is called.
      added.catch(() => undefined);
      pending.add(added);
    },
    async total() {
      await Promise.all(pending);
      return isMonitored ? { allowed: [...allowed.values()], denied: [...denied.values()] } : undefined;
    },
  };
}

function toHostKey({ host, port }: EgressCount): string {
  return `${host}:${port}`;
}

function toDenialKey(denial: EgressDenial): string {
  return `${toHostKey(denial)} ${denial.why}`;
}

type Adding<Count> = { readonly key: (count: Count) => string; readonly others: Count };

/** Adds a count to the sum of its key, or to the sum of all others if there are too many keys. */
function addTo<Count extends EgressCount>(sums: Map<string, Count>, one: Count, { key, others }: Adding<Count>): void {
  const counted = sums.has(key(one)) || sums.size < MOST_ENTRIES ? one : others;
  sums.set(key(counted), { ...counted, count: one.count + (sums.get(key(counted))?.count ?? 0) });
}
