import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { readObject } from "./read-object.ts";
import { stageContent, type StagedContent } from "./stage-content.ts";

/** The contents of change sets, by their digest, in the state directory. */
export type ObjectStore = {
  /** Reads content of at most `maxBytes`, which defaults to the largest file; `undefined` if there is more */
  readonly stage: (
    content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    maxBytes?: number,
  ) => Promise<StagedContent | undefined>;
  /** Reads an object; `undefined` if it is missing or damaged */
  readonly read: (digest: string) => Promise<Buffer | undefined>;
  /** Removes the objects that are neither needed nor new, and drafts that a crash left */
  readonly prune: (isNeeded: (digest: string) => boolean) => Promise<void>;
};

/** The largest file of a change set whose content is kept. */
export const LARGEST_FILE_BYTES = 64 * 1024 * 1024;

// Another budgie may collect a set at this moment, and record it soon.
const NEW_MS = 60 * 60 * 1000;

/** Opens the objects of a state directory. Creates nothing before the first is staged. */
export function createObjectStore({ stateDir }: { readonly stateDir: string }): ObjectStore {
  const folder = join(stateDir, "objects");

  return {
    async stage(content, maxBytes = LARGEST_FILE_BYTES) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      return stageContent(folder, content, maxBytes);
    },
    read: (digest) => readObject(folder, digest, LARGEST_FILE_BYTES),
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
