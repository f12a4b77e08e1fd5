import { createHash, randomUUID } from "node:crypto";
import { open, rename, rm, stat, utimes, writeFile, type FileHandle } from "node:fs/promises";
import { join } from "node:path";

/** Content that was read and hashed, and that is stored once it is kept. */
export type StagedContent = {
  /** SHA-256 in hex */
  readonly digest: string;
  readonly size: number;
  /** Stores it under its digest */
  readonly keep: () => Promise<void>;
  /** Forgets it, unless it was kept */
  readonly discard: () => Promise<void>;
};

// Most files of a repository are smaller, and need no draft.
const IN_MEMORY_BYTES = 256 * 1024;

/**
 * Reads content to its end into memory, or into a draft beside the objects if it is large. Returns `undefined` if it has more than
 * `maxBytes`; the rest is not read then.
 */
export async function stageContent(
  folder: string,
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
): Promise<StagedContent | undefined> {
  const draft = createDraft(folder);
  const hash = createHash("sha256");
  let size = 0;
  try {
    for await (const piece of content) {
      size += piece.length;
      if (size > maxBytes) {
        await draft.discard();
        return undefined;
      }
      hash.update(piece);
      await draft.add(piece);
    }
  } catch (error) {
    await draft.discard();
    throw error;
  }
  const digest = hash.digest("hex");
  return { digest, size, keep: () => draft.keep(join(folder, digest)), discard: draft.discard };
}

type Draft = {
  readonly add: (piece: Uint8Array) => Promise<void>;
  readonly keep: (path: string) => Promise<void>;
  readonly discard: () => Promise<void>;
};

/** Creates a draft that becomes a file once it is large, or kept. */
function createDraft(folder: string): Draft {
  const path = join(folder, `.draft-${randomUUID()}`);
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  let file: FileHandle | undefined;

  async function discard(): Promise<void> {
    pieces.length = 0;
    await file?.close();
    file = undefined;
    await rm(path, { force: true });
  }

  return {
    async add(piece) {
      bytes += piece.length;
      pieces.push(piece);
      if (bytes <= IN_MEMORY_BYTES) return;
      file ??= await open(path, "wx", 0o600);
      for (const each of pieces.splice(0)) await file.writeFile(each);
    },
    async keep(target) {
      // A known object is as good as new unless it was cut off; its time keeps it from being removed as unused.
      if ((await isOfSize(target, bytes)) && (await touch(target))) return discard();
      if (file === undefined) await writeFile(path, Buffer.concat(pieces), { mode: 0o600, flag: "wx" });
      await file?.close();
      file = undefined;
      await rename(path, target);
    },
    discard,
  };
}

async function isOfSize(path: string, bytes: number): Promise<boolean> {
  return stat(path).then(
    ({ size }) => size === bytes,
    () => false,
  );
}

async function touch(path: string): Promise<boolean> {
  const now = new Date();
  return utimes(path, now, now).then(
    () => true,
    () => false,
  );
}
