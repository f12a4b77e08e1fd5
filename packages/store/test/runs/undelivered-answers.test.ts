import { describe, expect, it } from "vitest";
import { createMemoryRunLog } from "@budgie/core/runs";
import { createFolder, makeRun, open, openArchive, toCaller } from "../helpers.ts";

const NONE = { missed: [], moreMissed: 0 };

describe.each([
  ["in a file", (folder: string) => open(folder)],
  ["in memory", () => createMemoryRunLog()],
])("an answer %s", (_where, create) => {
  it("is undelivered until a client has it", async () => {
    const log = create(createFolder());
    const run = makeRun({ endedMs: Date.UTC(2026, 0, 2, 3, 4, 5) });
    await log.begin(run);

    const before = await log.undelivered(toCaller(run));
    await log.finish(run);
    const missed = await log.undelivered(toCaller(run));
    await log.delivered([run.id, "of nobody"]);

    expect(before).toEqual(NONE);
    expect(missed).toEqual({
      missed: [{ runId: run.id, response: "Grüße", when: "2026-01-02T03:04:05.000Z" }],
      moreMissed: 0,
    });
    expect(await log.undelivered(toCaller(run))).toEqual(NONE);
    expect(await log.recent({ limit: 1 })).toMatchObject([{ delivered: true, answerBytes: 7 }]);
  });

  it("is undelivered again if its client had no use for it", async () => {
    const log = create(createFolder());
    const run = makeRun();
    await log.finish(run);
    await log.delivered([run.id]);

    await log.dropped([run.id]);

    expect(await log.undelivered(toCaller(run))).toMatchObject({ missed: [{ runId: run.id }] });
  });

  it("is reported to its own session with its own agent, the oldest first", async () => {
    const log = create(createFolder());
    const first = makeRun();
    const second = makeRun({ sessionId: first.sessionId });
    for (const run of [first, second, makeRun(), makeRun({ sessionId: first.sessionId, agent: "other" })]) {
      await log.finish(run);
    }
    await log.finish(makeRun({ sessionId: first.sessionId, outcome: "TIMED_OUT", answer: undefined }));

    const all = await log.undelivered(toCaller(first));
    const others = await log.undelivered({ ...toCaller(first), except: first.id });

    expect(all.missed.map(({ runId }) => runId)).toEqual([first.id, second.id]);
    expect(others).toMatchObject({ missed: [{ runId: second.id }], moreMissed: 0 });
  });

  it.each([
    ["of 99 kB", "x".repeat(99_000), 2],
    ["of 60 kB with quotation marks, which take twice the room", '"'.repeat(60_000), 1],
    ["that alone is larger", "x".repeat(600_000), 1],
    ["of a few bytes", "x", 8],
  ])(
    "%s is reported with others as far as they fit into one message, and the rest is counted",
    async (_, answer, fit) => {
      const log = create(createFolder());
      const { sessionId } = makeRun();
      const runs = Array.from({ length: 10 }, () => makeRun({ sessionId, answer }));
      for (const run of runs) await log.finish(run);
      const caller = toCaller(makeRun({ sessionId }));

      const { missed, moreMissed } = await log.undelivered(caller);
      await log.delivered(missed.map(({ runId }) => runId));
      const next = await log.undelivered(caller);

      expect(missed.map(({ runId }) => runId)).toEqual(runs.slice(0, fit).map(({ id }) => id));
      expect(moreMissed).toBe(10 - fit);
      expect(next.missed[0]?.runId).toBe(runs[fit]?.id);
    },
  );
});

describe("answers in the run log", () => {
  it("survive the process, as does their delivery", async () => {
    const stateDir = createFolder();
    const run = makeRun();
    const log = open(stateDir);
    await log.finish(run);
    log.close();

    const next = open(stateDir);
    const missed = await next.undelivered(toCaller(run));
    await next.delivered([run.id]);
    next.close();

    expect(missed).toMatchObject({ missed: [{ runId: run.id }] });
    expect(await openArchive(stateDir).find(run.id)).toMatchObject({ answer: "Grüße", delivered: true });
  });

  it("are not kept if answers are not logged", async () => {
    const stateDir = createFolder();
    const run = makeRun();
    const log = open(stateDir, { keepAnswers: false });
    await log.finish(run);

    const missed = await log.undelivered(toCaller(run));
    log.close();

    expect(missed).toEqual(NONE);
    expect(await openArchive(stateDir).find(run.id)).toMatchObject({ answer: undefined, answerBytes: 7 });
  });
});
