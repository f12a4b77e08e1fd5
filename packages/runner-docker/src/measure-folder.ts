import { spawn } from "node:child_process";
import type { FileHandle } from "node:fs/promises";

export type FolderSize = {
  /** On the disk, of what could be counted */
  readonly bytes: number;
  /** Whether there may be more: a folder could not be read, or it took too long */
  readonly isPartial: boolean;
};

const MOST_COMPLAINTS = 64 * 1024;

/**
 * Counts what a folder holds on its file system, in a process of its own: what is in it may be of any number, of any depth, and
 * change meanwhile. No link is followed.
 */
export async function measureFolder({ fd }: FileHandle, signal: AbortSignal): Promise<FolderSize> {
  // By the descriptor, which it has as its number 3.
  const child = spawn("du", ["-skx", "/proc/self/fd/3/."], {
    stdio: ["ignore", "pipe", "pipe", fd],
    env: { LC_ALL: "C" },
    signal,
    killSignal: "SIGKILL",
  });
  let said = "";
  let complaints = "";
  child.stdout?.on("data", (chunk: Buffer) => (said += chunk.toString("latin1")));
  child.stderr?.on("data", (chunk: Buffer) => {
    if (complaints.length < MOST_COMPLAINTS) complaints += chunk.toString("latin1");
  });
  const hasEnded = await new Promise<boolean>((resolve) => {
    child.once("error", () => resolve(false));
    child.once("close", (code) => resolve(code !== null));
  });
  const kibibytes = /^\d+/.exec(said)?.[0];
  // What an agent removes meanwhile is missed, and no matter.
  const isHidden = complaints.length >= MOST_COMPLAINTS || complaints.includes("Permission denied");
  return { bytes: Number(kibibytes ?? 0) * 1024, isPartial: !hasEnded || kibibytes === undefined || isHidden };
}
