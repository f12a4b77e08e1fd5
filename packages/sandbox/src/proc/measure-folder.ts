import { spawn } from "node:child_process";
import { fstatSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { SYSTEM_PATH } from "@budgie/core/walk";
import { readFewEntries, type FewEntry } from "./read-few-entries.ts";

/** An open folder to measure. */
export type Area = {
  readonly folder: FileHandle;
  /** The relative path of what is left out, such as a workspace that is mounted in it; default nothing */
  readonly without?: string | undefined;
  /** The folders of `find`; default the system's */
  readonly programs?: string | undefined;
};

export type FolderSize = {
  /** Disk space of the counted files */
  readonly bytes: number;
  /** True if there may be more, since a folder was unreadable or the time limit was reached */
  readonly isPartial: boolean;
};

const MOST_COMPLAINTS = 64 * 1024;

// The folder is descriptor 3 of the process that measures it.
const FOLDER = "/proc/self/fd/3/.";

/** Returns the pattern of one path in the folder, for `du` and `find`. */
function toPattern(path: string): string {
  return `${FOLDER}/${path}`.replaceAll(/[\\*?[\]]/g, String.raw`\$&`);
}

/**
 * Measures a folder's disk space on its file system without following symlinks. It runs `du` unless there is little, since an agent decides
 * the number and nesting of the files.
 */
export async function measureFolder(area: Area, signal: AbortSignal): Promise<FolderSize> {
  const few = signal.aborted ? undefined : measureFew(area);
  return few ?? runDu(area, signal);
}

/** Adds up the disk space of few files as `du` does: each inode once, and none on another file system. */
function measureFew({ folder, without }: Area): FolderSize | undefined {
  const omitted = without === undefined ? undefined : Buffer.from(without).toString("latin1");
  const { dev } = fstatSync(folder.fd, { bigint: true });
  const isCounted = ({ bytes, facts }: FewEntry): boolean => facts.dev === dev && bytes !== omitted;
  const entries = readFewEntries(folder, isCounted);
  if (entries === undefined) return undefined;
  const sizes = new Map(entries.filter(isCounted).map(({ facts }) => [facts.ino, facts.blocks]));
  const blocks = [...sizes.values()].reduce((sum, size) => sum + size, 0n);
  return { bytes: Math.ceil(Number(blocks) / 2) * 1024, isPartial: false };
}

async function runDu({ folder, without }: Area, signal: AbortSignal): Promise<FolderSize> {
  const excluding = without === undefined ? [] : [`--exclude=${toPattern(without)}`];
  const child = spawn("du", ["-skx", ...excluding, FOLDER], {
    stdio: ["ignore", "pipe", "pipe", folder.fd],
    env: { LC_ALL: "C", PATH: SYSTEM_PATH },
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

export type Growth = {
  /** Disk space of the counted files */
  readonly bytes: number;
  readonly files: number;
  /** True if there may be more, since a folder was unreadable, there were too many or the time limit was reached */
  readonly isPartial: boolean;
};

// An agent decides the number of files and of descriptors.
const MOST_OUTPUT = 8 * 1024 ** 2;

/**
 * Measures the files in a folder that were created or changed since a time in milliseconds, without following symlinks. The kernel sets
 * the time of the last change of a file's status; no agent can set it back.
 */
export function measureGrowth(
  { folder, programs, without }: Area,
  sinceMs: number,
  signal: AbortSignal,
): Promise<Growth> {
  const pruned = without === undefined ? [] : ["-path", toPattern(without), "-prune", "-o"];
  const found = [FOLDER, "-xdev", ...pruned, "-newerct", `@${(sinceMs / 1000).toFixed(3)}`];
  return sumOf(folder, ["find", ...found, "-printf", "%D %i %b\\n"], { signal, programs });
}

/** Measures the files on a device that are unlinked and still open in the processes of a container's `/proc`. */
export function measureUnlinked(proc: FileHandle, device: number, signal: AbortSignal): Promise<Growth> {
  const script = `cd /proc/self/fd/3/ && exec find -L [0-9]*/fd -mindepth 1 -maxdepth 1 -type f -links 0 -printf '%D %i %b\\n'`;
  return sumOf(proc, ["/bin/sh", "-c", script], { signal, device });
}

type Counting = Pick<Area, "programs"> & { readonly signal: AbortSignal; readonly device?: number };

/** Adds up what a program prints: device, inode and blocks of each file. Counts each inode once. */
async function sumOf(
  { fd }: FileHandle,
  [command = "", ...args]: readonly string[],
  { device, programs = SYSTEM_PATH, signal }: Counting,
): Promise<Growth> {
  const child = spawn(command, args, {
    stdio: ["ignore", "pipe", "pipe", fd],
    env: { LC_ALL: "C", PATH: programs },
    signal,
    killSignal: "SIGKILL",
  });
  const chunks: Buffer[] = [];
  let length = 0;
  child.stdout?.on("data", (chunk: Buffer) => {
    length += chunk.length;
    if (length <= MOST_OUTPUT) chunks.push(chunk);
    else child.kill("SIGKILL");
  });
  let isHidden = false;
  child.stderr?.on("data", (chunk: Buffer) => {
    // Some of a container's processes may be hidden from an ordinary user. An agent's own folder must not be.
    isHidden ||= device === undefined && chunk.includes("Permission denied");
    // BusyBox's find prints no sizes.
    isHidden ||= chunk.includes("-printf");
  });
  // Files and processes that end meanwhile make the exit code 1.
  const hasEnded = await new Promise<boolean>((resolve) => {
    child.once("error", () => resolve(false));
    child.once("close", (code) => resolve(code !== null));
  });
  const sizes = new Map<string, number>();
  for (const line of Buffer.concat(chunks).toString("latin1").split("\n")) {
    const [ofDevice, inode, blocks] = line.split(" ");
    if (blocks === undefined || (device !== undefined && Number(ofDevice) !== device)) continue;
    sizes.set(`${ofDevice} ${inode}`, Number(blocks) * 512);
  }
  const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  return { bytes, files: sizes.size, isPartial: !hasEnded || isHidden };
}
