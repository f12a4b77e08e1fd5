import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createSessionId } from "@budgie/core";
import { describe, expect, it } from "vitest";
import { readProcess } from "../../src/turn/list-processes.ts";
import {
  createLocalPlace,
  findProcesses,
  hasProcessTable,
  type LocalPlace,
  openAndRun,
} from "../helpers/local-place.ts";

describe("a local process", () => {
  it("waits for the output of background processes", async () => {
    await using place = createLocalPlace();

    const { stdout } = await runScript(place, "(sleep 0.1; echo late) & echo early");

    expect(stdout).toBe("early\nlate\n");
  });

  it("asks background processes to end before it kills them", async () => {
    await using place = createLocalPlace();

    const { stdout } = await runScript(
      place,
      "(trap 'echo cleaned up; exit' TERM; while :; do sleep 0.05; done) & echo early",
    );

    expect(stdout).toBe("early\ncleaned up\n");
  });

  it.runIf(hasProcessTable)("ends a process that kept only its streams", async () => {
    await using place = createLocalPlace();

    const { stdout, exit } = await runScript(place, "env -i setsid sh -c 'echo $$; exec sleep 300' & sleep 0.2");

    expect(exit.exitCode).toBe(0);
    expect(readProcess(Number(stdout))).toBeUndefined();
  });

  it("has no reason if it ended by itself, even if it is stopped while background processes end", async () => {
    await using place = createLocalPlace();
    const session = await place.createRunner().runner.openSession(createSessionId());
    const command = { argv: ["sh", "-c", "echo $$; sleep 300 &"] as const, env: {}, projections: [] };
    const agent = await session.start(command, { directory: place.workspace, input: "" });
    const [pid] = (await once(agent.stdout, "data")) as [Buffer];
    while (readProcess(Number(pid)) !== undefined) await sleep(5);
    await sleep(20);

    await agent.stop("cancelled");

    expect(await agent.exit).toMatchObject({ exitCode: 0, reason: undefined });
  });

  it("shortens the grace period of a cancelled agent when budgie shuts down", async () => {
    await using place = createLocalPlace();
    const session = await place.createRunner().runner.openSession(createSessionId());
    const stubborn = ["sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.05; done"] as const;
    const patient = await session.start({ argv: stubborn, env: {}, projections: [] }, { directory: place.workspace });
    const hurried = await session.start({ argv: stubborn, env: {}, projections: [] }, { directory: place.workspace });
    await Promise.all([once(patient.stdout, "data"), once(hurried.stdout, "data")]);
    const began = performance.now();
    const timeOf = (stop: Promise<void>) => stop.then(() => performance.now() - began);

    const stops = [
      timeOf(patient.stop("cancelled")),
      timeOf(hurried.stop("cancelled")),
      hurried.stop("shutdown"),
    ] as const;

    const [patientMs, hurriedMs] = await Promise.all(stops);
    expect(hurriedMs).toBeLessThan(0.8 * patientMs);
  });

  it.runIf(hasProcessTable)("leads a process group of its own", async () => {
    await using place = createLocalPlace();

    const { stdout } = await runScript(place, "echo $$; cut -d ' ' -f 5 /proc/$$/stat");

    const [pid, group] = stdout.split("\n");
    expect(group).toBe(pid);
  });

  it("leaves no daemon that left the group", async () => {
    await using place = createLocalPlace();

    const { id } = await runScript(place, "setsid sleep 300 >/dev/null 2>&1 & sleep 0.2");

    expect(findProcesses(id)).toEqual([]);
  });

  it.each([
    ["a file without leave to execute", "file"],
    ["a directory", "."],
    ["a path below a file", "file/program"],
  ])("reports %s as a command that is not there", async (_, name) => {
    await using place = createLocalPlace();
    writeFileSync(join(place.workspace, "file"), "#!/bin/sh\n", { mode: 0o644 });

    const { exit } = await openAndRun(place, [join(place.workspace, name)]);

    expect(exit).toMatchObject({ exitCode: undefined, signal: undefined, reason: "command-not-found" });
  });

  it("rejects if the system cannot start it", async () => {
    await using place = createLocalPlace();

    await expect(openAndRun(place, ["echo", "x".repeat(200_000)])).rejects.toMatchObject({
      code: "RUNNER_UNAVAILABLE",
      message: expect.stringContaining("E2BIG"),
    });
  });

  it("sets marks in its environment that a command cannot override", async () => {
    await using place = createLocalPlace();
    const { runner } = place.createRunner();
    const session = await runner.openSession(createSessionId());
    const env = { BUDGIE_SESSION: "x", BUDGIE_TURN: "x" };
    const command = { argv: ["sh", "-c", 'echo "$BUDGIE_SESSION $BUDGIE_TURN"'] as const, env, projections: [] };

    const { stdout } = await session.start(command, { directory: place.workspace, input: "" });

    expect(String(await stdout.toArray())).toMatch(new RegExp(`^${session.id} [0-9a-f-]{36}\n$`));
  });
});

function runScript(place: LocalPlace, script: string) {
  return openAndRun(place, ["sh", "-c", script]);
}
