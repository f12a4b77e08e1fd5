import { constants, existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { open, rm, type FileHandle } from "node:fs/promises";
import { randomUUID } from "node:crypto";
import { join } from "node:path";

/** Files for outputs that are too long to be held. */
export type OutputFiles = {
  /** Nothing is written yet */
  readonly open: () => OutputFile;
  /** Removes files that are too old or too many; each new file does the same */
  readonly prune: () => void;
};

export type OutputFile = {
  /** Waits until it is written; what cannot be is dropped */
  readonly write: (chunk: Buffer) => Promise<void>;
  /** Its path; `undefined` if it could not be written */
  readonly close: () => Promise<string | undefined>;
};

export type OutputFilesOptions = {
  readonly stateDir: string;
  /** Of one file; the end of a longer output is dropped. Default 256 MiB */
  readonly maxFileBytes?: number;
  /** Of all files, above which the oldest go. Default 1 GiB */
  readonly maxTotalBytes?: number;
  /** Time since a file's last write after which it is removed. Default no limit */
  readonly maxAgeMs?: number | undefined;
};

const MAX_FILE_BYTES = 256 * 1024 * 1024;
const MAX_TOTAL_BYTES = 1024 * 1024 * 1024;

/** Keeps them in `stateDir/outputs`, readable by this user alone, and bounded: an agent must not fill the host's disk. */
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
            // The turn is worth more than its output, and half a file would pass for all of it.
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
