import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { createSessionId } from "@budgie/core";
import { describe, expect, it, onTestFinished } from "vitest";
import { readProcess } from "../src/turn/list-processes.ts";
import { createLocalPlace, findProcesses, hasProcessTable } from "./helpers/local-place.ts";

const FREEZER = "/sys/fs/cgroup/freezer";
const STUBBORN = "trap '' TERM; echo up; while :; do sleep 0.05; done";

describe.runIf(hasProcessTable)("a local turn that is cancelled", () => {
  it("before it starts runs nothing", async () => {
    await using place = createLocalPlace();
    const session = await place.createRunner().runner.openSession(createSessionId());

    const started = session.start(toCommand("echo up"), { directory: place.workspace, signal: AbortSignal.abort() });

    await expect(started).rejects.toMatchObject({ code: "CANCELLED" });
    expect(findProcesses(session.id)).toEqual([]);
  });

  it("while it waits for `ready` runs nothing", async () => {
    await using place = createLocalPlace();
    const session = await place.createRunner().runner.openSession(createSessionId());
    const cancelling = new AbortController();
    let begin = (): void => undefined;
    const ready = new Promise<void>((resolve) => void (begin = resolve));

    const options = { directory: place.workspace, signal: cancelling.signal, ready };
    const started = session.start(toCommand("echo up"), options);
    cancelling.abort();
    begin();

    await expect(started).rejects.toMatchObject({ code: "CANCELLED" });
    expect(findProcesses(session.id)).toEqual([]);
  });

  it.each([
    ["as it is spawned", "sleep 300", false],
    ["at its work", "echo up; sleep 300", true],
    ["at its work, deaf to SIGTERM", STUBBORN, true],
    [
      "at its work, with children in sessions of their own",
      "setsid sleep 300 & (setsid sleep 300 &) ; echo up; wait",
      true,
    ],
    ["when it has ended but for what it left running", "(trap '' TERM; sleep 300; sleep 300) & echo up", true],
  ])("%s leaves no process", async (_, script, speaks) => {
    await using place = createLocalPlace();
    const session = await place.createRunner().runner.openSession(createSessionId());
    const cancelling = new AbortController();
    const options = { directory: place.workspace, signal: cancelling.signal };
    const agent = await session.start(toCommand(script), options);
    if (speaks) await once(agent.stdout, "data");

    cancelling.abort();
    await agent.exit;

    expect(findProcesses(session.id)).toEqual([]);
    const next = await session.start(toCommand("echo well"), { directory: place.workspace, input: "" });
    expect(String(await next.stdout.toArray())).toBe("well\n");
  });

  it("rejects if a killed process survives", { skip: !canFreeze() }, async () => {
    await using place = createLocalPlace();
    const session = await place.createRunner().runner.openSession(createSessionId());
    const agent = await session.start(toCommand("echo $$; sleep 300"), { directory: place.workspace, input: "" });
    const [said] = (await once(agent.stdout, "data")) as [Buffer];
    const pid = Number(said);
    const thaw = freeze(pid);
    onTestFinished(thaw);

    const [stopped, exited] = await Promise.allSettled([agent.stop("cancelled"), agent.exit]);
    const survivor = readProcess(pid);
    thaw();

    for (const result of [stopped, exited]) {
      expect(result).toMatchObject({
        status: "rejected",
        reason: { code: "RUNNER_UNAVAILABLE", message: expect.stringContaining(`pid ${pid}`) },
      });
    }
    expect(survivor).toBeDefined();
    while (readProcess(pid) !== undefined) await sleep(5);
  });
});

function toCommand(script: string) {
  return { argv: ["sh", "-c", script] as const, env: {}, projections: [] };
}

/** Tells if this is root with the freezer of cgroup v1, which can create a process that no signal ends. */
function canFreeze(): boolean {
  return process.getuid?.() === 0 && existsSync(`${FREEZER}/cgroup.procs`);
}

function freeze(pid: number): () => void {
  const folder = `${FREEZER}/budgie-test-${process.pid}`;
  mkdirSync(folder);
  writeFileSync(`${folder}/cgroup.procs`, String(pid));
  writeFileSync(`${folder}/freezer.state`, "FROZEN");
  return () => {
    if (!existsSync(folder)) return;
    writeFileSync(`${folder}/freezer.state`, "THAWED");
    // A killed process stays in the group for a moment, on a busy machine for seconds.
    const until = performance.now() + 10_000;
    while (readFileSync(`${folder}/cgroup.procs`, "utf8") !== "" && performance.now() < until) readProcess(pid);
    rmdirSync(folder);
  };
}
