import { spawn } from "node:child_process";
import type { FileHandle } from "node:fs/promises";
import { SYSTEM_PATH } from "@budgie/core/walk";

/** An entry below a folder, as the kernel has it. */
export type ListedEntry = {
  /** Relative to the folder, which is itself the entry "" */
  readonly path: Buffer;
  /** `find`'s letter: `f`, `d`, `l`, or another one */
  readonly type: string;
  /** Permission bits */
  readonly mode: number;
  readonly size: number;
  readonly inode: string;
  /** The time of the last change of content or status, in milliseconds, which no program can choose */
  readonly changedMs: number;
  /** True if its file system may keep whole seconds only */
  readonly isCoarse: boolean;
  /** The target of a symlink */
  readonly target: Buffer;
};

// The host takes nothing from further down.
const LEVELS = 130;
const MOST_BYTES = 64 * 1024 ** 2;
const LIMIT_MS = 60_000;
const FORMAT = String.raw`%y %m %s %C@ %i\0%P\0%l\0`;

/**
 * Lists an open folder and what is below it, parents first, without following symlinks. It runs `find`, since an agent decides the number of
 * entries. Resolves to `undefined` if an entry stays hidden, or there are too many.
 */
export function listFolder({ fd }: Pick<FileHandle, "fd">): Promise<Buffer | undefined> {
  const child = spawn("find", ["/proc/self/fd/3/.", "-maxdepth", String(LEVELS), "-printf", FORMAT], {
    stdio: ["ignore", "pipe", "pipe", fd],
    env: { LC_ALL: "C", PATH: SYSTEM_PATH },
    timeout: LIMIT_MS,
    killSignal: "SIGKILL",
  });
  const chunks: Buffer[] = [];
  let [bytes, isWhole] = [0, true];
  const giveUp = (): void => {
    isWhole = false;
    child.kill("SIGKILL");
  };
  child.stdout?.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) giveUp();
    else chunks.push(chunk);
  });
  // A folder that it may not read, or a format that it does not know.
  child.stderr?.on("data", giveUp);
  return new Promise((resolve) => {
    child.once("error", () => resolve(undefined));
    child.once("close", (code) => resolve(isWhole && code === 0 ? Buffer.concat(chunks) : undefined));
  });
}

/** Yields the entries of a listing. */
export function* parseListing(listing: Buffer): Generator<ListedEntry> {
  for (let at = 0; at < listing.length;) {
    // Looked for without an array for each entry, of which there may be hundreds of thousands.
    const factsEnd = listing.indexOf(0, at);
    const pathEnd = listing.indexOf(0, factsEnd + 1);
    const targetEnd = listing.indexOf(0, pathEnd + 1);
    const [type = "", mode = "", size = "", changed = "", inode = ""] = listing
      .toString("latin1", at, factsEnd)
      .split(" ");
    const [path, target] = [listing.subarray(factsEnd + 1, pathEnd), listing.subarray(pathEnd + 1, targetEnd)];
    at = targetEnd + 1;
    yield {
      path,
      type,
      mode: Number.parseInt(mode, 8),
      size: Number(size),
      inode,
      changedMs: Number(changed) * 1000,
      isCoarse: /\.0*$/.test(changed),
      target,
    };
  }
}
