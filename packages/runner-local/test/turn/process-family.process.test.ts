import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createProcessFamily } from "../../src/turn/process-family.ts";
import { listChildren, readProcess } from "../../src/turn/list-processes.ts";
import { hasProcessTable } from "../helpers/local-place.ts";

// Each script prints the pid of the process that must not escape, and `up` when it runs.
const WAYS_OUT = {
  "in the group": "sleep 300 & echo $!; wait",
  "in the group of a leader that is gone": "sleep 300 & echo $!",
  "in a session of its own": "setsid sh -c 'echo $$; exec sleep 300' & wait",
  "in a session of its own, without parents": "setsid sh -c 'echo $$; exec sleep 300' &",
  "in a session of its own, without parents and with a cleared environment, that keeps its output open":
    "env -i setsid sh -c 'echo $$; exec sleep 300' &",
  "in a session of its own, with a cleared environment": "env -i setsid -w sh -c 'echo $$; exec sleep 300' & wait",
};

describe.runIf(hasProcessTable)("a process family", () => {
  it.each(Object.entries(WAYS_OUT))("ends a process %s", async (_, script) => {
    const { leader, family, said } = await startFamily(script);

    await family.end(1_000);

    expect(readProcess(Number(said))).toBeUndefined();
    expect(readProcess(leader.pid ?? 0)).toBeUndefined();
  });

  it("ends a daemon that hid its origin after a scan", async () => {
    const { family, leader } = await startFamily(HIDING);
    const stopWatching = family.watch();
    const daemon = await appearing(() => readFamily(leader.pid ?? 0));
    await hidden(daemon);

    await family.end(1_000);
    stopWatching();

    expect(readProcess(daemon)).toBeUndefined();
  });

  it("does not find such a daemon without a scan", async () => {
    const { family, leader } = await startFamily(HIDING);
    const daemon = await appearing(() => readFamily(leader.pid ?? 0));
    await hidden(daemon);

    await family.end(1_000);

    expect(readProcess(daemon)).toBeDefined();
    process.kill(daemon, "SIGKILL");
  });

  it("does not signal an unrelated process that started during its life, with or without scans", async () => {
    const { family } = await startFamily("sleep 300 & echo $!; wait");
    const stopWatching = family.watch();
    const unrelated = spawn("sleep", ["60"], { env: {}, detached: true });
    await sleep(600);

    await family.end(1_000);
    stopWatching();
    const survivor = readProcess(unrelated.pid ?? 0);
    unrelated.kill("SIGKILL");

    expect(survivor).toBeDefined();
  });

  it("lets a process end before it kills it", async () => {
    const { leader, family } = await startFamily("trap 'exit 9' TERM; echo up; while :; do sleep 0.05; done");
    const ended = once(leader, "exit");

    await family.end(5_000);

    expect(await ended).toEqual([9, null]);
  });

  it("kills what does not end during the grace period", async () => {
    const { leader, family } = await startFamily("trap '' TERM; echo up; while :; do sleep 0.05; done");
    const ended = once(leader, "exit");

    await family.end(200);

    expect(await ended).toEqual([null, "SIGKILL"]);
  });

  it("does not signal unrelated processes, even one whose mark has the same prefix", async () => {
    const { family, mark } = await startFamily("sleep 300 & echo $!; wait");
    const [name = "", value = ""] = mark.split("=");
    const unrelated = spawn("sleep", ["60"], {
      env: { PATH: process.env["PATH"], [name]: `${value}0` },
      detached: true,
    });

    await family.end(1_000);
    const survivor = readProcess(unrelated.pid ?? 0);
    unrelated.kill("SIGKILL");

    expect(survivor).toBeDefined();
  });
});

// The intermediate shell lives for a moment; after it, nothing connects the daemon to its family.
const HIDING = `echo up; env -i setsid sh -c "sleep 301 <&- >/dev/null 2>&1 & sleep 1" >/dev/null 2>&1 & wait; sleep 300`;

/** Reads the pid of the hidden process, while its ancestry still leads to it. */
function readFamily(leader: number): number | undefined {
  const below = listChildren(leader).flatMap(({ pid }) => listChildren(pid));
  return below.find(({ pid }) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("301"))?.pid;
}

async function appearing<T>(look: () => T | undefined): Promise<T> {
  for (let round = 0; round < 500; round++) {
    const found = look();
    if (found !== undefined) return found;
    await sleep(10);
  }
  throw new Error("It never appeared.");
}

/** Waits until a process has lost its parent. */
async function hidden(pid: number): Promise<void> {
  const parent = readProcess(pid)?.parent;
  await appearing(() => (readProcess(pid)?.parent === parent ? undefined : true));
}

async function startFamily(script: string): Promise<{
  readonly leader: ChildProcess;
  readonly family: ReturnType<typeof createProcessFamily>;
  readonly said: string;
  readonly mark: string;
}> {
  const turn = randomUUID();
  const env = { PATH: process.env["PATH"], BUDGIE_TURN: turn };
  // Some scripts end in a millisecond, while no agent ends before the first scan of its family.
  const leader = spawn("sh", ["-c", `read -r word; ${script}`], {
    detached: true,
    env,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const mark = `BUDGIE_TURN=${turn}`;
  const family = createProcessFamily({ mark, leader: leader.pid ?? 0 });
  leader.stdin.end("go\n");
  const [said] = (await once(leader.stdout, "data")) as [Buffer];
  return { leader, family, said: said.toString().trim(), mark };
}
