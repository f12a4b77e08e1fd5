import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { createMemoryRunLog, type FinishedRun } from "@budgie/core/runs";

const SESSION_ID = randomUUID();

it("A run log without a file keeps the last 1,000 runs", async () => {
  const log = createMemoryRunLog();
  const runs = Array.from({ length: 1_002 }, (_, index) => makeRun(`${index}`));
  for (const run of runs) await log.finish(run);

  const kept = await log.recent({ limit: 2_000 });
  expect(kept).toHaveLength(1_000);
  expect(kept.at(-1)?.id).toBe(runs[2]?.id);
});

it("A run log without a file keeps the last 16 MiB of answers, and the runs of the others", async () => {
  const log = createMemoryRunLog();
  for (const letter of "abcde") await log.finish(makeRun(letter.repeat(4 * 2 ** 20)));

  const { missed, moreMissed } = await log.undelivered({ agent: "tester", sessionId: SESSION_ID, except: "" });
  expect(missed.length + moreMissed).toBe(4);
  expect(await log.recent({ limit: 9 })).toHaveLength(5);
});

function makeRun(answer: string): FinishedRun {
  return {
    id: randomUUID(),
    agent: "tester",
    sessionId: SESSION_ID,
    isolation: "none",
    startedMs: 1,
    promptBytes: 1,
    endedMs: 2,
    outcome: "answered",
    exit: { exitCode: 0, signal: undefined },
    timedOut: false,
    answer,
    retried: false,
    error: undefined,
    egress: undefined,
    usage: undefined,
  };
}
