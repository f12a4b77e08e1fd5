import { describe, expect, it } from "vitest";
import { createMemoryRunLog } from "@budgie/core";
import { createFolder, makeRun, open, openArchive, toCaller } from "./helpers.ts";

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

    expect(before).toEqual([]);
    expect(missed).toEqual([{ runId: run.id, response: "Grüße", when: "2026-01-02T03:04:05.000Z" }]);
    expect(await log.undelivered(toCaller(run))).toEqual([]);
    expect(await log.recent({ limit: 1 })).toMatchObject([{ delivered: true, answerBytes: 7 }]);
  });

  it("is undelivered again if its client had no use for it", async () => {
    const log = create(createFolder());
    const run = makeRun();
    await log.finish(run);
    await log.delivered([run.id]);

    await log.dropped([run.id]);

    expect(await log.undelivered(toCaller(run))).toMatchObject([{ runId: run.id }]);
  });

  it("is reported to its own session with its own agent, the oldest first", async () => {
    const log = create(createFolder());
    const first = makeRun();
    const second = makeRun({ sessionId: first.sessionId });
    for (const run of [first, second, makeRun(), makeRun({ sessionId: first.sessionId, agent: "other" })]) {
      await log.finish(run);
    }
    await log.finish(makeRun({ sessionId: first.sessionId, outcome: "TIMED_OUT", answer: undefined }));

    const missed = await log.undelivered(toCaller(first));

    expect(missed.map(({ runId }) => runId)).toEqual([first.id, second.id]);
  });

  it("is reported with others as far as they fit into one message, and one at least", async () => {
    const log = create(createFolder());
    const answer = "x".repeat(600_000);
    const large = makeRun({ answer: answer.repeat(3) });
    const second = makeRun({ sessionId: large.sessionId, answer });
    for (const run of [large, second]) await log.finish(run);

    const missed = await log.undelivered(toCaller(large));
    await log.delivered([large.id]);

    expect(missed.map(({ runId }) => runId)).toEqual([large.id]);
    expect(await log.undelivered(toCaller(large))).toMatchObject([{ runId: second.id }]);
  });
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

    expect(missed).toMatchObject([{ runId: run.id }]);
    expect(await openArchive(stateDir).find(run.id)).toMatchObject({ answer: "Grüße", delivered: true });
  });

  it("are not kept if answers are not logged", async () => {
    const stateDir = createFolder();
    const run = makeRun();
    const log = open(stateDir, { keepAnswers: false });
    await log.finish(run);

    const missed = await log.undelivered(toCaller(run));
    log.close();

    expect(missed).toEqual([]);
    expect(await openArchive(stateDir).find(run.id)).toMatchObject({ answer: undefined, answerBytes: 7 });
  });
});
