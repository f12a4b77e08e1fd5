import { isWithin } from "../policy/is-within.ts";
import type { BegunRun, FinishedRun, Run, RunLog, RunQuery } from "./run-log.ts";
import { chooseUndelivered } from "./undelivered-answers.ts";

// Enough for a day of work, and small enough for memory.
const RUNS_KEPT = 1000;
const ANSWER_BYTES_KEPT = 16 * 1024 * 1024;

type Kept = { readonly run: Run; readonly answer: string | undefined };

/** Creates a run log of bounded size that lasts as long as the process. */
export function createMemoryRunLog(): RunLog {
  // In the order of their starts.
  const kept = new Map<string, Kept>();

  function drop(): void {
    let bytes = 0;
    const newestFirst = [...kept].toReversed();
    for (const [index, [id, { answer, run }]] of newestFirst.entries()) {
      bytes += answer === undefined ? 0 : (run.answerBytes ?? 0);
      if (index >= RUNS_KEPT) kept.delete(id);
      else if (bytes > ANSWER_BYTES_KEPT) kept.set(id, { run, answer: undefined });
    }
  }

  function mark(ids: readonly string[], delivered: boolean): void {
    for (const id of ids) {
      const found = kept.get(id);
      if (found !== undefined) kept.set(id, { ...found, run: { ...found.run, delivered } });
    }
  }

  return {
    async begin(run) {
      kept.set(run.id, { run: toRunning(run), answer: undefined });
      drop();
    },
    async finish(run) {
      kept.set(run.id, { run: toFinished(run), answer: run.answer });
      drop();
    },
    delivered: async (ids) => mark(ids, true),
    dropped: async (ids) => mark(ids, false),
    async undelivered({ agent, except, sessionId }) {
      const found = [...kept.values()].flatMap(({ answer: response, run }) => {
        const { delivered, endedMs, id } = run;
        const isAsked = run.agent === agent && run.sessionId === sessionId && id !== except;
        if (!isAsked || delivered || response === undefined || endedMs === undefined) return [];
        return [{ runId: id, response, when: new Date(endedMs).toISOString() }];
      });
      return chooseUndelivered(found);
    },
    recent: async (query) => listNewest([...kept.values()], query),
    outcomes: async (limit) => listNewest([...kept.values()], { limit }),
  };
}

function toRunning(run: BegunRun): Run {
  return {
    ...run,
    endedMs: undefined,
    outcome: "running",
    exit: undefined,
    answerBytes: undefined,
    timedOut: false,
    retried: false,
    error: undefined,
    egress: undefined,
    usage: undefined,
    delivered: false,
  };
}

function toFinished({ answer, ...finished }: FinishedRun): Run {
  const { transcript: _, ...run } = finished;
  return { ...run, answerBytes: answer === undefined ? undefined : Buffer.byteLength(answer), delivered: false };
}

function listNewest(all: readonly Kept[], query: RunQuery): readonly Run[] {
  const { agent, directory, limit, sessionId, sinceMs = 0 } = query;
  return all
    .map(({ run }) => run)
    .filter((run) => agent === undefined || run.agent === agent)
    .filter((run) => sessionId === undefined || run.sessionId === sessionId)
    .filter((run) => directory === undefined || (run.directory !== undefined && isWithin(run.directory, directory)))
    .filter((run) => run.startedMs >= sinceMs)
    .toReversed()
    .slice(0, limit);
}
