import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findClusterLack } from "@budgie/testkit";
import { startPods, type TestPod, type TestPods } from "../helpers/start-pods.ts";

const lack = findClusterLack();
const sh = (script: string) => ({ argv: ["sh", "-c", script] as const });
const countProcesses = { argv: ["perl", "-e", 'print scalar(() = glob("/proc/[0-9]*"))'] as const };

describe.skipIf(lack !== undefined)(`bombs in a Pod${lack === undefined ? "" : ` (skipped: ${lack})`}`, () => {
  let pods: TestPods;
  let bomber: TestPod;
  let other: TestPod;

  beforeAll(async () => {
    pods = await startPods("bombs");
    [bomber, other] = await Promise.all([pods.open(), pods.open()]);
  }, 300_000);
  afterAll(async () => {
    await Promise.all([bomber?.remove(), other?.remove()]);
    await pods?.[Symbol.asyncDispose]();
  }, 60_000);

  /** Lets another session answer until the bomb's process has ended. */
  async function bomb(script: string) {
    let hasEnded = false;
    const bombing = bomber.run(sh(script)).finally(() => (hasEnded = true));
    const answers = new Set<string>();
    do {
      const { exit, stderr, stdout } = await other.run(sh("echo kept > /tmp/file && cat /tmp/file"));
      answers.add(`${exit.exitCode} ${stdout}${stderr}`);
    } while (!hasEnded);
    expect([...answers]).toEqual(["0 kept\n"]);
    return bombing;
  }

  it("of processes end at the order's limit, and are gone after their turn", async () => {
    const { stdout } = await bomb(
      "perl -e '$n = 0; while (defined($p = fork())) { if ($p == 0) { setpgrp(); sleep 1000 } $n++ } print \"$n $!\"'",
    );

    expect(stdout).toMatch(/^\d+ Resource temporarily unavailable$/);
    expect(Number(stdout.split(" ")[0])).toBeGreaterThan(50);
    // Process 1, and the one that counts.
    expect((await bomber.run(countProcesses)).stdout).toBe("2");
  });

  it("of memory end at the container's limit, which the exit tells", async () => {
    const { exit } = await bomb(`perl -e '@all = map { "a" x 100_000_000 } 1 .. 50'; exit 9`);

    expect(exit).toMatchObject({ exitCode: 9, oomKilled: true });
  });

  it("in /tmp and /dev/shm end at the volume's size", async () => {
    const { stdout } = await bomb(
      "for folder in /tmp /dev/shm; do head -c 1G /dev/zero > $folder/fill 2>/dev/null || echo full; done",
    );

    expect(stdout).toBe("full\nfull\n");
    expect((await bomber.run(sh("ls -A /tmp /dev/shm"))).stdout).toBe("/dev/shm:\n\n/tmp:\n");
  });

  it("in the home end with their turn, before the Pod does", async () => {
    const { exit } = await bomb("while true; do head -c 10M /dev/zero >> /home/agent/fill; sleep 0.05; done");

    expect(exit).toMatchObject({ reason: "disk-limit" });
    // Its disk is still full, and its Pod still there.
    expect(await bomber.run(sh("sleep 1000"))).toMatchObject({ exit: { reason: "disk-limit" } });
  });
});
