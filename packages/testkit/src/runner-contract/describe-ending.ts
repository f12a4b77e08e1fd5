import { getEventListeners } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { openContractSession, readAll, readUntil, shareContractSession } from "./contract-session.ts";
import type { RunnerSetup } from "./runner-setup.ts";

const FOREVER = "while :; do sleep 0.1; done";
// The process writes to `beat` until it is killed.
const BEAT = `while :; do echo x >> "$2/beat"; sleep 0.05; done`;

/** Describes how processes end, by themselves and by signals. */
export function describeEnding(setup: RunnerSetup): void {
  describe("the end of a process", () => {
    const contractSession = shareContractSession(setup);

    it("reports an exit code other than 0 as an exit, not an error", async () => {
      const contract = await contractSession();

      expect((await contract.run("exit 7")).exit).toEqual({
        exitCode: 7,
        signal: undefined,
        reason: undefined,
        oomKilled: false,
      });
    });

    it("names the signal that killed a process, and invents no exit code", async () => {
      const contract = await contractSession();

      const { exit } = await contract.run("kill -KILL $$");

      expect(exit).toMatchObject({ exitCode: undefined, signal: "SIGKILL", reason: undefined });
    });

    it("reports a missing command", async () => {
      const contract = await contractSession();
      const { session, directory } = contract;
      const command = { argv: ["budgie-no-such-command"] as const, env: {}, projections: [] };

      const { exit } = await readAll(await session.start(command, { directory, input: "x" }));

      expect(exit).toMatchObject({ exitCode: undefined, signal: undefined, reason: "command-not-found" });
    });

    it("lets a process that is stopped end by itself", async () => {
      const contract = await contractSession();
      const process = await contract.start(`trap 'echo bye; exit 3' TERM; echo up; ${FOREVER}`);
      await readUntil(process.stdout, "up\n");

      await process.stop("cancelled");

      expect((await readAll(process)).stdout.toString()).toContain("bye\n");
      expect(await process.exit).toMatchObject({ exitCode: 3, signal: undefined, reason: "cancelled" });
    });

    it("kills a process that ignores SIGTERM, with its descendants", async () => {
      const contract = await contractSession();
      const process = await contract.start(`trap "" TERM; (${BEAT}) & echo up; ${FOREVER}`);
      await readUntil(process.stdout, "up\n");

      await process.stop("timeout");

      expect(await process.exit).toMatchObject({ exitCode: undefined, signal: "SIGKILL", reason: "timeout" });
      await expectSilence(contract.directory);
      expect((await setup.leftovers(contract.session.id)).running).toEqual([]);
    });

    it("kills descendants that ignore SIGTERM when the process itself ends", async () => {
      const contract = await contractSession();
      const process = await contract.start(`(trap "" TERM; ${BEAT}) & sleep 0.1; echo up; ${FOREVER}`);
      await readUntil(process.stdout, "up\n");

      await process.stop("timeout");

      expect((await process.exit).reason).toBe("timeout");
      await expectSilence(contract.directory);
      expect((await setup.leftovers(contract.session.id)).running).toEqual([]);
    });

    it("stops a process whose output is not read", async () => {
      const contract = await contractSession();
      const process = await contract.start("yes");
      await sleep(200);

      await process.stop("timeout");

      expect((await process.exit).reason).toBe("timeout");
      expect((await setup.leftovers(contract.session.id)).running).toEqual([]);
    });

    it("keeps the first reason of several, and none after the end", async () => {
      const contract = await contractSession();
      const stopped = await contract.start(FOREVER);
      await Promise.all([stopped.stop("timeout"), stopped.stop("cancelled")]);
      const ended = await contract.start("exit 0", { input: "" });
      await ended.exit;
      await ended.stop("cancelled");

      expect((await stopped.exit).reason).toBe("timeout");
      expect(await ended.exit).toMatchObject({ exitCode: 0, reason: undefined });
    });
  });

  describe("cancelling", () => {
    const contractSession = shareContractSession(setup);

    it("starts nothing if the signal was aborted before", async () => {
      await using contract = await openContractSession(setup);

      const start = contract.start('touch "$2/started"', { signal: AbortSignal.abort() });

      await expect(start).rejects.toMatchObject({ code: "CANCELLED" });
      await sleep(200);
      expect(existsSync(join(contract.directory, "started"))).toBe(false);
    });

    it.each([0, 1, 5, 20, 80, 160])("leaves nothing running when it comes %i ms into the start", async (delayMs) => {
      await using contract = await openContractSession(setup);
      const controller = new AbortController();

      const start = contract.start(`(${BEAT}) & ${FOREVER}`, { signal: controller.signal });
      const outcome = start.then(readAll).then(
        ({ exit }) => exit.reason,
        (error) => error.code,
      );
      if (delayMs > 0) await sleep(delayMs);
      controller.abort();

      expect((await outcome).toLowerCase()).toBe("cancelled");
      expect((await setup.leftovers(contract.session.id)).running).toEqual([]);
      await expectSilence(contract.directory);
    });

    it("stops a running process", async () => {
      const contract = await contractSession();
      const controller = new AbortController();
      const process = await contract.start(`echo up; ${FOREVER}`, { signal: controller.signal });
      await readUntil(process.stdout, "up\n");

      controller.abort();

      expect((await process.exit).reason).toBe("cancelled");
      expect((await setup.leftovers(contract.session.id)).running).toEqual([]);
    });

    it("changes nothing after the exit, and leaves no listener", async () => {
      const contract = await contractSession();
      const controller = new AbortController();
      const { exit } = await contract.run("exit 5", { signal: controller.signal });

      expect(getEventListeners(controller.signal, "abort")).toEqual([]);
      controller.abort();

      expect(exit).toMatchObject({ exitCode: 5, reason: undefined });
    });
  });
}

async function expectSilence(directory: string): Promise<void> {
  const read = () => (existsSync(join(directory, "beat")) ? readFileSync(join(directory, "beat"), "utf8") : "");
  const before = read();
  await sleep(400);
  expect(read()).toBe(before);
}
