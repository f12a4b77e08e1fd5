import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, vi } from "vitest";
import { watchDisk } from "../../src/proc/watch-disk.ts";

const MIB = 2 ** 20;

/** Writes random bytes, since compressible ones might take no space on the disk. */
export function writeInto(file: string, mebibytes: number): void {
  const piece = crypto.getRandomValues(Buffer.alloc(65_536)).toString("latin1");
  writeFileSync(file, piece.repeat(16 * mebibytes), "latin1");
}

/** Has two turns watched on a disk that the first fills, and resolves once that is reported. The second writes a note. */
export async function fillDisk(note: string) {
  const disk = mkdtempSync(join(tmpdir(), "budgie-full-"));
  expect(spawnSync("mount", ["-t", "tmpfs", "-o", "size=64m", "tmpfs", disk]).status).toBe(0);
  onTestFinished(() => void spawnSync("sh", ["-c", 'umount -l "$1"; rmdir "$1"', "sh", disk]));
  const [large, small] = [watchTurn(join(disk, "large")), watchTurn(join(disk, "small"))];
  await new Promise((resolve) => setTimeout(resolve, 1200));

  writeFileSync(join(small.path, "home/note"), note);
  writeInto(join(large.path, "workspace/large"), 44);
  await vi.waitFor(() => expect(large.onReached).toHaveBeenCalledOnce(), 10_000);
  return [large, small] as const;
}

function watchTurn(path: string) {
  for (const folder of ["home", "workspace"]) mkdirSync(join(path, folder), { recursive: true });
  const onReached = vi.fn();
  const root = {
    path,
    readMounts: async () => "",
    hasEnded: async () => false,
    [Symbol.asyncDispose]: async () => undefined,
  };
  const limit = { workspacePath: "/workspace", bytes: 256 * MIB, heldBytes: undefined, onReached };
  return { path, onReached, watch: watchDisk(root, limit) };
}
