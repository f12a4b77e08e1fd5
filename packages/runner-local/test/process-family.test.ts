import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { createProcessFamily } from "../src/process-family.ts";
import { readProcess } from "../src/process-table.ts";
import { hasProcessTable } from "./local-place.ts";

// Each script prints the pid of the process that must not get away, and `up` is said when it runs.
const WAYS_OUT = {
  "in the group": "sleep 300 & echo $!; wait",
  "in the group of a leader that is gone": "sleep 300 & echo $!",
  "in a session of its own": "setsid sh -c 'echo $$; exec sleep 300' & wait",
  "in a session of its own, without parents": "setsid sh -c 'echo $$; exec sleep 300' &",
  "in a session of its own, with a cleared environment": "env -i setsid -w sh -c 'echo $$; exec sleep 300' & wait",
};

describe.runIf(hasProcessTable)("a process family", () => {
  it.each(Object.entries(WAYS_OUT))("ends a process %s", async (_, script) => {
    const { leader, family, said } = await startFamily(script);

    await family.end(1_000);

    expect(readProcess(Number(said))).toBeUndefined();
    expect(readProcess(leader.pid ?? 0)).toBeUndefined();
  });

  it("lets a process end by itself before it kills it", async () => {
    const { leader, family } = await startFamily("trap 'exit 9' TERM; echo up; while :; do sleep 0.05; done");
    const ended = once(leader, "exit");

    await family.end(5_000);

    expect(await ended).toEqual([9, null]);
  });

  it("kills what does not end within the grace", async () => {
    const { leader, family } = await startFamily("trap '' TERM; echo up; while :; do sleep 0.05; done");
    const ended = once(leader, "exit");

    await family.end(200);

    expect(await ended).toEqual([null, "SIGKILL"]);
  });

  it("leaves strangers alone, also one with a mark that only begins the same", async () => {
    const { family, mark } = await startFamily("sleep 300 & echo $!; wait");
    const [name = "", value = ""] = mark.split("=");
    const stranger = spawn("sleep", ["60"], {
      env: { PATH: process.env["PATH"], [name]: `${value}0` },
      detached: true,
    });

    await family.end(1_000);
    const survivor = readProcess(stranger.pid ?? 0);
    stranger.kill("SIGKILL");

    expect(survivor).toBeDefined();
  });
});

async function startFamily(script: string): Promise<{
  readonly leader: ChildProcess;
  readonly family: ReturnType<typeof createProcessFamily>;
  readonly said: string;
  readonly mark: string;
}> {
  const turn = randomUUID();
  const env = { PATH: process.env["PATH"], BUDGIE_TURN: turn };
  const leader = spawn("sh", ["-c", script], { detached: true, env, stdio: ["ignore", "pipe", "inherit"] });
  const mark = `BUDGIE_TURN=${turn}`;
  const family = createProcessFamily({ mark, leader: leader.pid ?? 0 });
  const [said] = (await once(leader.stdout, "data")) as [Buffer];
  return { leader, family, said: said.toString().trim(), mark };
}
