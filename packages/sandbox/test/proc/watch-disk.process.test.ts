import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { watchDisk } from "../../src/proc/watch-disk.ts";
import { fillDisk, writeInto } from "./fill-disk.ts";

const MIB = 2 ** 20;

function createPlace() {
  const path = mkdtempSync(join(tmpdir(), "budgie-disk-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  for (const name of ["home/agent", "workspace", "elsewhere"]) mkdirSync(join(path, name), { recursive: true });
  const root = {
    path,
    readMounts: async () => "",
    hasEnded: async () => false,
    [Symbol.asyncDispose]: async () => undefined,
  };
  return { path, root, write: (name: string, mebibytes: number) => writeInto(join(path, name), mebibytes) };
}

describe("watchDisk", () => {
  it("reports once that the home exceeds its limit", async () => {
    const { root, write } = createPlace();
    const onReached = vi.fn();
    const report = watchDisk(root, { workspacePath: "/workspace", bytes: 16 * MIB, heldBytes: undefined, onReached });

    write("home/agent/large", 24);
    await vi.waitFor(() => expect(onReached).toHaveBeenCalledOnce(), 30_000);

    expect(await report.end()).toEqual({ homeBytes: expect.any(Number), grownBytes: expect.any(Number) });
    expect(onReached).toHaveBeenCalledOnce();
  });

  it("counts a cache beside the home, each by its own limit", async () => {
    const { path, root, write } = createPlace();
    mkdirSync(join(path, "cache"));
    const onReached = vi.fn();
    const limits = { workspacePath: "/workspace", bytes: 16 * MIB, cacheBytes: 16 * MIB, heldBytes: 0 };
    const report = watchDisk(root, { ...limits, onReached });
    await report.ready;
    for (const name of ["cache/first", "home/agent/first"]) write(name, 12);
    await new Promise((resolve) => setTimeout(resolve, 3000));
    expect(onReached).not.toHaveBeenCalled();
    write("cache/second", 96);
    await vi.waitFor(() => expect(onReached).toHaveBeenCalledOnce(), 30_000);

    expect(Math.round(((await report.end())?.homeBytes ?? 0) / MIB)).toBe(12);
  });

  it("reports on a container that ends once the watch is ready", async () => {
    const { path, root, write } = createPlace();
    write("home/agent/large", 2);
    const report = watchDisk(root, {
      workspacePath: "/workspace",
      bytes: 64 * MIB,
      heldBytes: 0,
      onReached: () => undefined,
    });
    await report.ready;

    renameSync(join(path, "home"), join(path, "elsewhere/home"));

    expect(Math.round(((await report.end())?.grownBytes ?? 0) / MIB)).toBe(2);
  });

  it("reports the growth since the last report, of a home that is still in use and then of one that is not", async () => {
    const { root, write } = createPlace();
    const report = watchDisk(root, {
      workspacePath: "/workspace",
      bytes: 64 * MIB,
      heldBytes: 0,
      onReached: () => undefined,
    });
    await report.take();

    write("home/agent/first", 2);
    const taken = await report.take();
    write("home/agent/second", 4);
    const ended = await report.end();

    expect(Math.round((taken?.grownBytes ?? 0) / MIB)).toBe(2);
    expect(Math.round((taken?.homeBytes ?? 0) / MIB)).toBe(2);
    expect(Math.round((ended?.grownBytes ?? 0) / MIB)).toBe(4);
    expect(await report.take()).toBeUndefined();
  });

  it("reports a home that already exceeds its limit", async () => {
    const { root, write } = createPlace();
    write("home/agent/large", 24);
    const onReached = vi.fn();
    const report = watchDisk(root, { workspacePath: "/workspace", bytes: 16 * MIB, heldBytes: undefined, onReached });

    await vi.waitFor(() => expect(onReached).toHaveBeenCalledOnce(), 30_000);
    await report.end();
  });

  it("ignores what others write to the same disk, and follows no symlink", async () => {
    const { path, root, write } = createPlace();
    write("home/agent/before", 2);
    const onReached = vi.fn();
    const report = watchDisk(root, { workspacePath: "/workspace", bytes: 16 * MIB, heldBytes: undefined, onReached });
    await new Promise((resolve) => setTimeout(resolve, 1200));

    write("elsewhere/large", 48);
    symlinkSync(join(path, "elsewhere"), join(path, "home/agent/link"));
    write("home/agent/more", 3);
    // Time for two checks.
    await new Promise((resolve) => setTimeout(resolve, 2500));
    const { grownBytes = 0, homeBytes = 0 } = (await report.end()) ?? {};

    expect(onReached).not.toHaveBeenCalled();
    expect(homeBytes).toBeGreaterThanOrEqual(5 * MIB);
    expect(homeBytes).toBeLessThan(6 * MIB);
    expect(grownBytes).toBeGreaterThanOrEqual(3 * MIB);
    expect(grownBytes).toBeLessThan(4 * MIB);
  });

  // Only root can mount a disk.
  it.skipIf(process.getuid?.() !== 0)("reports a disk that is nearly out of files", async () => {
    const { path, root } = createPlace();
    const home = join(path, "home");
    const { status } = spawnSync("sh", ["-c", 'mount -t tmpfs -o nr_inodes=1000 tmpfs "$1"', "sh", home]);
    expect(status).toBe(0);
    onTestFinished(() => void spawnSync("sh", ["-c", 'umount -l "$1"', "sh", home]));
    const onReached = vi.fn();
    const report = watchDisk(root, { workspacePath: "/workspace", bytes: 16 * MIB, heldBytes: undefined, onReached });
    await new Promise((resolve) => setTimeout(resolve, 1200));

    for (let index = 0; index < 700; index++) writeFileSync(join(home, `${index}`), "");
    await vi.waitFor(() => expect(onReached).toHaveBeenCalledOnce(), 10_000);

    await report.end();
  });

  // Only root can mount a disk.
  describe.skipIf(process.getuid?.() !== 0)("of two turns", () => {
    it("reports the turn that filled a disk, and not one that wrote little", async () => {
      const [large, small] = await fillDisk("sixteen bytes...");
      // The disk stays full for as long as the smallest share takes to be asked for.
      await new Promise((resolve) => setTimeout(resolve, 9000));

      expect(small.onReached).not.toHaveBeenCalled();
      await Promise.all([large.watch.end(), small.watch.end()]);
    });

    it("reports the one that took most first, and no other if its end makes room", async () => {
      const [large, other] = await fillDisk("x".repeat(4 * MIB));
      rmSync(join(large.path, "workspace/large"));
      // Time for two more shares.
      await new Promise((resolve) => setTimeout(resolve, 2500));

      expect(other.onReached).not.toHaveBeenCalled();
      await Promise.all([large.watch.end(), other.watch.end()]);
    });
  });

  it("counts growth from the size after the last turn, if that is known", async () => {
    const { root, write } = createPlace();
    write("home/agent/before", 2);
    const report = watchDisk(root, {
      workspacePath: "/workspace",
      bytes: 16 * MIB,
      heldBytes: MIB,
      onReached: () => undefined,
    });

    const { grownBytes = 0, homeBytes = 0 } = (await report.end()) ?? {};

    expect(homeBytes - grownBytes).toBe(MIB);
  });

  // Root can read every folder.
  it.skipIf(process.getuid?.() === 0)("counts the disk's growth for an unreadable folder", async () => {
    const { path, root, write } = createPlace();
    const hidden = join(path, "home/agent/hidden");
    mkdirSync(hidden);
    const onReached = vi.fn();
    const report = watchDisk(root, { workspacePath: "/workspace", bytes: 16 * MIB, heldBytes: undefined, onReached });
    await new Promise((resolve) => setTimeout(resolve, 1200));

    write("home/agent/hidden/large", 24);
    chmodSync(hidden, 0);
    onTestFinished(() => chmodSync(hidden, 0o700));
    await vi.waitFor(() => expect(onReached).toHaveBeenCalledOnce(), 30_000);

    expect(await report.end()).toBeUndefined();
  });

  it("reports nothing for a container elsewhere, or for a home that is a symlink", async () => {
    const { path, root } = createPlace();
    const onReached = vi.fn();
    rmSync(join(path, "home"), { recursive: true });
    symlinkSync("/", join(path, "home"));

    const reports = [undefined, root].map((place) =>
      watchDisk(place, { workspacePath: "/workspace", bytes: 0, heldBytes: 0, onReached }).end(),
    );

    expect(await Promise.all(reports)).toEqual([undefined, undefined]);
    expect(onReached).not.toHaveBeenCalled();
  });
});
