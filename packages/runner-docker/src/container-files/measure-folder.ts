import { spawn } from "node:child_process";
import type { FileHandle } from "node:fs/promises";

export type FolderSize = {
  /** Disk space of the counted files */
  readonly bytes: number;
  /** True if there may be more, since a folder was unreadable or the time limit was reached */
  readonly isPartial: boolean;
};

const MOST_COMPLAINTS = 64 * 1024;

/**
 * Measures a folder's disk space on its file system without following symlinks. It runs `du`, since an agent decides the
 * number and nesting of the files.
 */
export async function measureFolder({ fd }: FileHandle, signal: AbortSignal): Promise<FolderSize> {
  // The folder is descriptor 3 of the process.
  const child = spawn("du", ["-skx", "/proc/self/fd/3/."], {
    stdio: ["ignore", "pipe", "pipe", fd],
    // Not every system has it in /bin or /usr/bin.
    env: { LC_ALL: "C", PATH: process.env["PATH"] },
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
  // Errors about files that were removed meanwhile do not matter.
  const isHidden = complaints.length >= MOST_COMPLAINTS || complaints.includes("Permission denied");
  return { bytes: Number(kibibytes ?? 0) * 1024, isPartial: !hasEnded || kibibytes === undefined || isHidden };
}
