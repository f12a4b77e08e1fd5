import { existsSync, rmSync } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createOwner } from "@budgie/core";
import type { OwnerProcess, OwnerRecord } from "@budgie/core/owners";
import { canUnshare, startOwner } from "./start-owner.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

describe("an owner in another process", () => {
  it("is live while stopped, and dead once killed", async () => {
    const stateDir = createTemporaryFolder();
    const { child, record } = await startOwner(stateDir);
    const watcher = createOwner({ stateDir });

    expect(await watcher.stateOf(record)).toBe("live");
    child.kill("SIGSTOP");
    expect(await watcher.stateOf(record)).toBe("live");
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(await watcher.stateOf(record)).toBe("dead");
    expect(existsSync(record.lock)).toBe(true);
  });

  it("is live without its lock too, and dead once killed", async () => {
    const stateDir = createTemporaryFolder();
    const { child, record } = await startOwner(stateDir);
    const watcher = createOwner({ stateDir });
    rmSync(stateDir, { recursive: true });

    expect(await watcher.stateOf(record)).toBe("live");
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(await watcher.stateOf(record)).toBe("dead");
  });

  it("is not another process that now has its pid", async () => {
    const stateDir = createTemporaryFolder();
    const { child, record } = await startOwner(stateDir);
    const watcher = createOwner({ stateDir });
    const before = withProcess(record, { started: String(Number(record.process?.started) - 1) });
    const lock = join(stateDir, "owners", "removed");

    expect(await watcher.stateOf({ ...record, lock })).toBe("live");
    expect(await watcher.stateOf({ ...before, lock })).toBe("dead");
    expect(child.exitCode).toBe(null);
  });

  it("from before the boot is dead if its lock or its record is left, even if its pid is in use", async () => {
    const stateDir = createTemporaryFolder();
    const { child, record } = await startOwner(stateDir);
    child.kill("SIGKILL");
    await once(child, "exit");
    const pid = process.pid;
    const before = withProcess(record, { boot: "00000000-0000-4000-8000-000000000000", pid });
    const watcher = createOwner({ stateDir });

    expect(existsSync(before.lock)).toBe(true);
    expect(await watcher.stateOf(before)).toBe("dead");
    rmSync(before.lock);
    expect(await watcher.stateOf(before, "state-directory")).toBe("dead");
    // It may belong to a machine with the same id, such as a copy of its disk.
    expect(await watcher.stateOf(before)).toBe("foreign");
  });

  it("whose process is not in this pid namespace is foreign, unless its lock answers", async ({ skip }) => {
    skip(!canUnshare(), "needs the right to make a pid namespace");
    const stateDir = createTemporaryFolder();
    const { child, record } = await startOwner(stateDir, { unshare: true });
    const watcher = createOwner({ stateDir });

    expect(record.host).toBe(watcher.record.host);
    expect(record.process?.pidNamespace).not.toBe(watcher.record.process?.pidNamespace);
    expect(await watcher.stateOf(record)).toBe("live");
    child.kill("SIGKILL");
    await expect.poll(() => watcher.stateOf(record)).toBe("foreign");
  });

  it("is not judged by pids of another pid namespace", async ({ skip }) => {
    skip(!canUnshare(), "needs the right to make a pid namespace");
    const stateDir = createTemporaryFolder();
    // Without a /proc of its own, the namespace finds another process under its pid 1.
    const { answer } = await startOwner(stateDir, { unshare: true, thenAsk: true });

    expect(await answer).toEqual({ missing: "foreign", reused: "foreign", gone: "dead" });
  });

  it("is not kept alive by its lock", async () => {
    const { child } = await startOwner(createTemporaryFolder(), { thenEnd: true });

    expect(child.exitCode ?? (await once(child, "exit"))[0]).toBe(0);
  });
});

function withProcess(record: OwnerRecord, changes: Partial<OwnerProcess>): OwnerRecord {
  if (record.process === undefined) throw new Error("The test needs a /proc.");
  return { ...record, process: { ...record.process, ...changes } };
}
