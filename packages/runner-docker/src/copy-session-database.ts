import { spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pLimit from "p-limit";
import { COPY_FILES, REFUSED } from "./copy-database.ts";
import { LARGEST_DATABASE_BYTES } from "./kiro-database.ts";
import { readStart } from "./read-start.ts";

/**
 * Copies the database in a folder into a new one, with its rows, and gives the path of that. Throws where the agent made
 * something of it that Kiro would not, and where the copy takes more than it may.
 */
export function copySessionDatabase(folder: string, signal: AbortSignal): Promise<string> {
  return copies(() => copy(folder, signal));
}

// Many sessions may end at once, and each copy is a process.
const copies = pLimit(2 * availableParallelism());

async function copy(folder: string, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const argv = ["-c", BOUNDED, "sh", process.execPath, "--no-warnings", "--max-old-space-size=128", PROGRAM, folder];
  // Where budgie runs may be gone.
  const child = spawn("/bin/sh", argv, { env: {}, cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  let isLate = false;
  const kill = (): void => void child.kill("SIGKILL");
  const timer = setTimeout(() => {
    isLate = true;
    kill();
  }, LIMIT_MS);
  signal.addEventListener("abort", kill, { once: true });
  try {
    // Nobody removes the folder before the process is gone.
    const closed = once(child, "close") as Promise<[number | null]>;
    const [said, [exitCode]] = await Promise.all([readStart(child.stderr, LONGEST_REASON), closed]);
    signal.throwIfAborted();
    if (exitCode === 0) return join(folder, COPY_FILES.copy);
    throw new Error(toReason({ exitCode, said: said.toString("utf8"), isLate }));
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", kill);
  }
}

const PROGRAM = fileURLToPath(new URL("../dist/copy-database-main.js", import.meta.url));
const LIMIT_MS = 10_000;
const LONGEST_REASON = 300;

// Bytes of each file that it writes, in blocks of 512; seconds of a processor, since nobody ends it once budgie is killed;
// KiB of memory, some times the largest row; and no dump of it, which would have the login.
const BOUNDED = `ulimit -f ${LARGEST_DATABASE_BYTES / 512} && ulimit -t 20 && ulimit -d 1572864 && ulimit -c 0 && exec "$@"`;

type Ended = {
  /** `null` if a signal ended it, such as that of a limit */
  readonly exitCode: number | null;
  readonly said: string;
  readonly isLate: boolean;
};

function toReason({ exitCode, isLate, said }: Ended): string {
  const shown = said.replaceAll(/\p{C}/gu, "?");
  if (exitCode === REFUSED) return shown;
  if (isLate) return `it was not read within ${LIMIT_MS / 1000} s`;
  if (exitCode === null) return "reading it takes more time, memory or disk than it may";
  return `the process that reads it ended with exit code ${exitCode}: ${shown}`;
}
