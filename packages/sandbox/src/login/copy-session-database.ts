import { spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pLimit from "p-limit";
import { COPY_FILES, REFUSED } from "./copy-database.ts";
import { LARGEST_DATABASE_BYTES } from "./kiro-database.ts";
import { readStart } from "../home/read-start.ts";

/**
 * Copies the database in a folder into a new one, in a process with resource limits, and returns the new path. Throws if the
 * database has definitions that are not Kiro's, or if the copy exceeds a limit.
 */
export function copySessionDatabase(folder: string, signal: AbortSignal): Promise<string> {
  return copies(() => copy(folder, signal));
}

// Bounds the processes when many sessions end at once.
const copies = pLimit(2 * availableParallelism());

async function copy(folder: string, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const argv = ["-c", BOUNDED, "sh", process.execPath, "--no-warnings", "--max-old-space-size=128", PROGRAM, folder];
  // budgie's own working directory may have been removed.
  const child = spawn("/bin/sh", argv, { env: {}, cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  let isLate = false;
  const kill = (): void => void child.kill("SIGKILL");
  const timer = setTimeout(() => {
    isLate = true;
    kill();
  }, LIMIT_MS);
  signal.addEventListener("abort", kill, { once: true });
  try {
    // The caller removes the folder afterwards, so the process must have ended.
    const closed = once(child, "close") as Promise<[number | null]>;
    const [said, [exitCode]] = await Promise.all([readStart(child.stderr, LONGEST_REASON), closed]);
    signal.throwIfAborted();
    if (exitCode === 0) return join(folder, COPY_FILES.copy);
    throw new Error(formatReason({ exitCode, said: said.toString("utf8"), isLate }));
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", kill);
  }
}

const PROGRAM = fileURLToPath(new URL("../../dist/login/copy-database-main.js", import.meta.url));
const LIMIT_MS = 10_000;
const LONGEST_REASON = 300;

// The size of each written file, in blocks of 512 bytes; seconds of CPU time, in case budgie is killed before the process ends;
// KiB of memory, a multiple of the largest row; and no core dump, which would contain the login.
const BOUNDED = `ulimit -f ${LARGEST_DATABASE_BYTES / 512} && ulimit -t 20 && ulimit -d 1572864 && ulimit -c 0 && exec "$@"`;

type Ended = {
  /** `null` if a signal ended the process, such as SIGXFSZ at a limit */
  readonly exitCode: number | null;
  readonly said: string;
  readonly isLate: boolean;
};

function formatReason({ exitCode, isLate, said }: Ended): string {
  const shown = said.replaceAll(/\p{C}/gu, "?");
  if (exitCode === REFUSED) return shown;
  if (isLate) return `it was not read within ${LIMIT_MS / 1000} s`;
  if (exitCode === null) return "reading it takes more time, memory or disk than it may";
  return `the process that reads it ended with exit code ${exitCode}: ${shown}`;
}
