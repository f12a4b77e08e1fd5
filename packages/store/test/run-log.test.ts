import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

import { describe, expect, it } from "vitest";

import { ALL, createFolder, edit, makeRun, open } from "./helpers.ts";

describe("the run log", () => {
  it("gives back what it was given, the newest first, over a restart", async () => {
    const stateDir = join(createFolder(), "state");
    const failed = makeRun({
      agent: "other",
      sessionId: undefined,
      outcome: "AGENT_CRASHED",
      exit: { exitCode: undefined, signal: "SIGKILL" },
      answerBytes: undefined,
      retried: true,
      error: "It was killed.",
      egress: undefined,
    });
    const runs = [makeRun(), failed, makeRun({ exit: undefined, outcome: "BUG", isolation: "none" })];
    const first = open(stateDir);
    for (const run of runs) await first.record(run);
    first.close();

    const second = open(stateDir);

    expect(await second.recent(ALL)).toEqual(runs.toReversed());
    expect(await second.recent({ limit: 2, agent: undefined })).toEqual(runs.toReversed().slice(0, 2));
    expect(await second.recent({ limit: 5, agent: "other" })).toEqual([failed]);
    expect(await second.recent({ limit: 5, agent: "nobody" })).toEqual([]);
    second.close();
    expect([...first.reports, ...second.reports]).toEqual([]);
  });

  it("writes nothing before the first run, not even to answer that there is none", async () => {
    const stateDir = join(createFolder(), "state");
    const log = open(stateDir);

    expect(await log.recent(ALL)).toEqual([]);
    log.close();
    expect(existsSync(stateDir)).toBe(false);
  });

  it("can be read by its owner alone, with what SQLite puts beside it", async () => {
    const stateDir = join(createFolder(), "state");
    const log = open(stateDir);
    await log.record(makeRun());

    const modes = readdirSync(stateDir).map((name) => [name, modeOf(join(stateDir, name))]);
    log.close();

    expect(modes).toEqual([
      ["runs.sqlite3", 0o600],
      ["runs.sqlite3-shm", 0o600],
      ["runs.sqlite3-wal", 0o600],
    ]);
    expect(modeOf(stateDir)).toBe(0o700);
  });

  it("takes the rights of others from a file that gave them some", async () => {
    const stateDir = createFolder();
    const path = join(stateDir, "runs.sqlite3");
    writeFileSync(path, "");
    chmodSync(path, 0o666);
    const log = open(stateDir);

    await log.record(makeRun());
    log.close();

    expect(modeOf(path)).toBe(0o600);
  });

  it("keeps a bounded number of runs, and drops the oldest", async () => {
    const stateDir = createFolder();
    const log = open(stateDir);
    await log.record(makeRun({ agent: "oldest" }));
    await log.record(makeRun({ agent: "old" }));
    edit(stateDir, "UPDATE runs SET number = number + 9998");
    edit(
      stateDir,
      "INSERT INTO runs SELECT 2, 'x', 'in between', session, isolation, started, ended, outcome, exit_code, exit_signal, prompt_bytes, answer_bytes, retried, error, egress FROM runs LIMIT 1",
    );

    await log.record(makeRun({ agent: "new" }));
    await log.record(makeRun({ agent: "newest" }));

    expect((await log.recent(ALL)).map(({ agent }) => agent)).toEqual(["newest", "new", "old", "oldest"]);
    log.close();
    expect(log.reports).toEqual([]);
  });

  it("loses nothing to several processes that begin it and write it at once", async () => {
    const stateDir = join(createFolder(), "state");

    const said = await Promise.all(["a", "b", "c", "d", "e", "f"].map((agent) => writeRuns(stateDir, agent, 50)));
    const log = open(stateDir);
    const runs = await log.recent({ limit: 1000, agent: undefined });
    log.close();

    expect(said).toEqual(Array(6).fill({ exitCode: 0, stdout: "" }));
    expect(runs).toHaveLength(300);
    expect(new Set(runs.map(({ agent, promptBytes }) => `${agent}${promptBytes}`)).size).toBe(300);
  });
});

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

const FIXTURE = fileURLToPath(new URL("fixtures/write-runs.mjs", import.meta.url));

async function writeRuns(stateDir: string, agent: string, count: number) {
  const child = spawn(process.execPath, [FIXTURE, stateDir, agent, String(count)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const stdout = text(child.stdout);
  const [exitCode] = (await once(child, "close")) as [number];
  return { exitCode, stdout: await stdout };
}
