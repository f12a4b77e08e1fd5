import { expect, it } from "vitest";
import { createPodProcesses } from "../../src/session/pod-processes.ts";
import { toLivePod } from "../files/to-live-pod.ts";
import { greet, runSidecar } from "../helpers/run-sidecar.ts";

it("a program that only prints is stopped at its limit", async () => {
  await using running = await runSidecar();
  const hold = await running.connectHold();
  greet(hold);
  const budgie = await running.connectBudgie();
  const processes = createPodProcesses();
  void budgie.nextOpened().then(processes.takeStderr);
  const limits = { pids: 64, diskBytes: 2 ** 30 };
  const order = { argv: ["help"], env: {}, unset: [], directory: "/", ports: [], isReadOnly: false, limits } as const;
  const printing = processes.print(toLivePod(budgie.wire).pod, order, { limitMs: 300 });
  printing.catch(() => undefined);
  await hold.hear("S");
  hold.say("P");
  await hold.hear("K");
  hold.say("E", [-1, 15, 0]);
  await expect(printing).rejects.toThrow("did not end within 0.3 seconds");
  expect(processes.isRunning()).toBe(false);
});
