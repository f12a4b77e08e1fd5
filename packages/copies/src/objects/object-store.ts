import { mkdir, open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { forEachOf } from "@budgie/core/walk";
import { chooseFileCalls, POOLED, type FileCalls } from "../host/file-calls.ts";
import { readObject } from "./read-object.ts";
import { stageContent, type StagedContent } from "./stage-content.ts";

/** The contents of change sets, by their digest, in the state directory. */
export type ObjectStore = {
  /** Reads content of at most `maxBytes`, which defaults to the largest file; `undefined` if there is more */
  readonly stage: (
    content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    maxBytes?: number,
  ) => Promise<StagedContent | undefined>;
  /** Writes to the disk what was kept since the last call, so that it survives a power failure */
  readonly flush: () => Promise<void>;
  /** Reads an object; `undefined` if it is missing or damaged */
  readonly read: (digest: string) => Promise<Buffer | undefined>;
  /** Removes the objects that are neither needed nor new, and drafts that a crash left */
  readonly prune: (isNeeded: (digest: string) => boolean) => Promise<void>;
};

/** The largest file of a change set whose content is kept. */
export const LARGEST_FILE_BYTES = 64 * 1024 * 1024;

// The disk syncs several files at once in hardly more time than one.
const AT_ONCE = 16;

// Another budgie may collect a set at this moment, and record it soon.
const NEW_MS = 60 * 60 * 1000;

/** Opens the objects of a state directory. Creates nothing before the first is staged. */
export function createObjectStore({ stateDir }: { readonly stateDir: string }): ObjectStore {
  const folder = join(stateDir, "objects");
  const unsynced = new Set<string>();
  let calls: Promise<FileCalls> | undefined;

  return {
    async stage(content, maxBytes = LARGEST_FILE_BYTES) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const staged = await stageContent(folder, content, maxBytes);
      if (staged === undefined) return undefined;
      const { digest, keep } = staged;
      return { ...staged, keep: () => keep().then(() => void unsynced.add(digest)) };
    },
    async flush() {
      const digests = [...unsynced];
      if (digests.length === 0) return;
      await forEachOf(digests, AT_ONCE, (digest) => sync(join(folder, digest)).catch(ignoreRemoved));
      await sync(folder);
      for (const digest of digests) unsynced.delete(digest);
    },
    async read(digest) {
      // Nothing can be read before there is a folder.
      calls ??= chooseFileCalls(folder).catch(() => POOLED);
      return readObject(digest, { folder, maxBytes: LARGEST_FILE_BYTES, calls: await calls });
    },
    async prune(isNeeded) {
      for (const name of await readdir(folder).catch(() => [])) {
        if (isNeeded(name)) continue;
        const path = join(folder, name);
        const found = await stat(path).catch(() => undefined);
        if (found !== undefined && Date.now() - found.mtimeMs > NEW_MS) await rm(path, { force: true });
      }
    },
  };
}

/** Ignores a file that was removed since no set needed it, such as one of a collection that was cancelled. */
function ignoreRemoved(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}

async function sync(path: string): Promise<void> {
  const file = await open(path);
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
