import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { FinishedRun, RunLog } from "@budgie/core/runs";
import { ALL, createFolder, edit, makeRun, open, openArchive, toKept } from "../helpers.ts";

describe("the run log", () => {
  it("returns the recorded runs, the newest first, after a restart", async () => {
    const stateDir = join(createFolder(), "state");
    const failed = makeRun({
      timedOut: true,
      agent: "other",
      sessionId: undefined,
      outcome: "AGENT_CRASHED",
      exit: { exitCode: undefined, signal: "SIGKILL" },
      answer: undefined,
      retried: true,
      error: "It was killed.",
      egress: undefined,
      usage: undefined,
    });
    const cost = {
      basis: "thread",
      model: "m1",
      inputTokens: 7,
      cachedTokens: 1,
      outputTokens: 2,
      thoughtTokens: 0,
      totalTokens: 10,
      cost: { amount: 0.25, currency: "USD" },
      contextUsed: 10,
      contextSize: 100,
    } as const;
    const runs = [
      makeRun(),
      failed,
      makeRun({ exit: undefined, isolation: "none", usage: cost }),
      makeRun({ usage: { credits: 1, ...cost } }),
      makeRun({ mcpCalls: [{ server: "github", tool: "get", durationMs: 12, outcome: "TIMED_OUT" }] }),
      makeRun({ usage: { inputTokens: 7 }, client: "claude-code" }),
      makeRun({ others: [{ runId: "r", agent: "other" }] }),
    ];
    const kept = runs.map((run) => toKept(run)).toReversed();
    const first = open(stateDir);
    for (const run of runs) await finish(first, run);
    first.close();

    const second = open(stateDir);

    expect(await second.recent(ALL)).toEqual(kept);
    expect(await second.recent({ limit: 2 })).toEqual(kept.slice(0, 2));
    expect(await second.recent({ limit: 5, agent: "other" })).toEqual([toKept(failed)]);
    expect(await second.recent({ limit: 5, agent: "nobody" })).toEqual([]);
    expect(await second.recent({ limit: 5, sessionId: runs[0]?.sessionId })).toEqual([kept.at(-1)]);
    second.close();
    expect([...first.reports, ...second.reports]).toEqual([]);
  });

  it("contains a run from its beginning, with its session as soon as that is known", async () => {
    const stateDir = createFolder();
    const log = open(stateDir);
    const { agent, id, isolation, promptBytes, sessionId, startedMs } = makeRun();
    const begun = { agent, id, isolation, promptBytes, startedMs };

    await log.begin({ ...begun, sessionId: undefined });
    const before = await log.recent(ALL);
    await log.begin({ ...begun, sessionId });

    expect(before).toMatchObject([{ ...begun, sessionId: undefined, outcome: "running", endedMs: undefined }]);
    expect(await log.recent(ALL)).toMatchObject([{ sessionId, outcome: "running" }]);
    log.close();
  });

  it("distinguishes a running run from one whose budgie has ended", async () => {
    const stateDir = createFolder();
    const log = open(stateDir);
    const foreign = { instance: "x", host: "another machine", lock: "/nowhere" };
    for (const agent of ["of its own", "young", "old"]) await log.begin(makeRun({ agent }));
    edit(stateDir, `UPDATE runs SET owner = '${JSON.stringify(foreign)}' WHERE agent IN ('young', 'old')`);
    edit(stateDir, "UPDATE runs SET started = started - 86400000 WHERE agent = 'old'");
    const outcomes = async (): Promise<unknown> =>
      Object.fromEntries((await openArchive(stateDir).recent(ALL)).map((run) => [run.agent, [run.outcome, run.error]]));
    const lost = ["lost", "The budgie that ran it ended before the turn did."];

    expect(await outcomes()).toEqual({
      "of its own": ["running", undefined],
      young: ["running", undefined],
      old: lost,
    });
    await log.die();

    expect(await outcomes()).toEqual({ "of its own": lost, young: ["running", undefined], old: lost });
    log.close();
  });

  it("creates no file before the first run, also when it is read", async () => {
    const stateDir = join(createFolder(), "state");
    const log = open(stateDir);

    expect(await log.recent(ALL)).toEqual([]);
    log.close();
    expect(existsSync(stateDir)).toBe(false);
  });

  it("can be read by its owner alone, as can SQLite's files beside it", async () => {
    const stateDir = join(createFolder(), "state");
    const log = open(stateDir);
    await finish(log, makeRun());

    const modes = readdirSync(stateDir).map((name) => [name, modeOf(join(stateDir, name))]);
    log.close();

    expect(modes).toEqual([
      ["owners", 0o700],
      ["runs.sqlite3", 0o600],
      ["runs.sqlite3-shm", 0o600],
      ["runs.sqlite3-wal", 0o600],
    ]);
    expect(modeOf(stateDir)).toBe(0o700);
  });

  it("removes other users' permissions from the file", async () => {
    const stateDir = createFolder();
    const path = join(stateDir, "runs.sqlite3");
    writeFileSync(path, "");
    chmodSync(path, 0o666);
    const log = open(stateDir);

    await finish(log, makeRun());
    log.close();

    expect(modeOf(path)).toBe(0o600);
  });

  it("loses nothing if several processes create and write it at once", async () => {
    const stateDir = join(createFolder(), "state");

    const said = await Promise.all(["a", "b", "c", "d"].map((agent) => writeRuns(stateDir, agent, 25)));
    const log = open(stateDir);
    const runs = await log.recent({ limit: 1000 });
    log.close();
    const { fault, turns } = await openArchive(stateDir).verify();

    expect({ fault, turns }).toEqual({ fault: undefined, turns: 100 });
    expect(said).toEqual(Array(4).fill({ exitCode: 0, stdout: "" }));
    expect(runs).toHaveLength(100);
    expect(runs.every(({ answerBytes, delivered, promptBytes }) => delivered && answerBytes === promptBytes)).toBe(
      true,
    );
    expect(new Set(runs.map(({ agent, promptBytes }) => `${agent}${promptBytes}`)).size).toBe(100);
  });
});

async function finish(log: RunLog, run: FinishedRun): Promise<void> {
  await log.begin(run);
  await log.finish(run);
}

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

const FIXTURE = fileURLToPath(new URL("../fixtures/write-runs.mjs", import.meta.url));

async function writeRuns(stateDir: string, agent: string, count: number) {
  const child = spawn(process.execPath, [FIXTURE, stateDir, agent, String(count)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const stdout = text(child.stdout);
  const [exitCode] = (await once(child, "close")) as [number];
  return { exitCode, stdout: await stdout };
}
