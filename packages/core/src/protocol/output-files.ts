import { constants, existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { open, rm, type FileHandle } from "node:fs/promises";
import { randomUUID } from "node:crypto";
import { join } from "node:path";

/** The files for outputs that are too long for memory. */
export type OutputFiles = {
  /** Returns an output file, which is created by the first write. */
  readonly open: () => OutputFile;
  /** Removes files that are too old, and the oldest ones if all together are too large. Creating a file does the same. */
  readonly prune: () => void;
};

export type OutputFile = {
  /** Resolves when the chunk is written, or discarded if it cannot be. */
  readonly write: (chunk: Buffer) => Promise<void>;
  /** Resolves to the file's path; `undefined` if it could not be written. */
  readonly close: () => Promise<string | undefined>;
};

export type OutputFilesOptions = {
  readonly stateDir: string;
  /** The maximal size of a file; the end of a longer output is discarded. Default: 256 MiB */
  readonly maxFileBytes?: number;
  /** The size of all files above which the oldest are removed. Default: 1 GiB */
  readonly maxTotalBytes?: number;
  /** The time after a file's last write when it is removed. Default: no limit */
  readonly maxAgeMs?: number | undefined;
};

const MAX_FILE_BYTES = 256 * 1024 * 1024;
const MAX_TOTAL_BYTES = 1024 * 1024 * 1024;

/** Creates the files in `stateDir/outputs`, readable by this user alone. They are bounded, so that an agent cannot fill the host's disk. */
export function createOutputFiles({
  maxAgeMs = Infinity,
  maxFileBytes = MAX_FILE_BYTES,
  maxTotalBytes = MAX_TOTAL_BYTES,
  stateDir,
}: OutputFilesOptions): OutputFiles {
  const folder = join(stateDir, "outputs");
  const bounds = { maxAgeMs, maxBytes: maxTotalBytes - maxFileBytes };
  return {
    prune() {
      if (existsSync(folder)) prune(folder, bounds);
    },
    open() {
      const path = join(folder, `${randomUUID()}.txt`);
      let file: Promise<FileHandle> | undefined;
      let written = 0;
      let isBroken = false;
      return {
        async write(chunk) {
          if (isBroken || written >= maxFileBytes) return;
          try {
            file ??= create(folder, path, bounds);
            const fitting = chunk.subarray(0, maxFileBytes - written);
            await (await file).writeFile(fitting);
            written += fitting.length;
          } catch {
            // The turn continues without the file. A partial file could be taken for all of the output.
            isBroken = true;
            await rm(path, { force: true }).catch(() => undefined);
          }
        },
        async close() {
          await (await file?.catch(() => undefined))?.close();
          return isBroken || written === 0 ? undefined : path;
        },
      };
    },
  };
}

type Bounds = { readonly maxAgeMs: number; readonly maxBytes: number };

async function create(folder: string, path: string, bounds: Bounds): Promise<FileHandle> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  prune(folder, bounds);
  const { O_CREAT, O_EXCL, O_WRONLY } = constants;
  return open(path, O_CREAT | O_EXCL | O_WRONLY, 0o600);
}

function prune(folder: string, { maxAgeMs, maxBytes }: Bounds): void {
  const files = readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    const facts = statSync(path, { throwIfNoEntry: false });
    return facts === undefined ? [] : [{ path, bytes: facts.size, atMs: facts.mtimeMs }];
  });
  const oldestMs = Date.now() - maxAgeMs;
  let total = 0;
  for (const { atMs, bytes, path } of files.toSorted((a, b) => b.atMs - a.atMs)) {
    total += bytes;
    if (total > maxBytes || atMs < oldestMs) rmSync(path, { force: true });
  }
}
