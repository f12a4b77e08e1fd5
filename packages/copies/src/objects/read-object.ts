import { createHash } from "node:crypto";
import { closeSync, constants } from "node:fs";
import { join } from "node:path";
import { PIECE_BYTES, type FileCalls } from "../host/file-calls.ts";

export type ReadingObjects = { readonly folder: string; readonly maxBytes: number; readonly calls: FileCalls };

/** Reads an object and compares it with its digest; `undefined` if it is missing, damaged, or larger than `maxBytes`. */
export async function readObject(digest: string, { folder, ...reading }: ReadingObjects): Promise<Buffer | undefined> {
  if (!/^[0-9a-f]{64}$/.test(digest)) return undefined;
  const found = await readFile(Buffer.from(join(folder, digest)), reading).catch(() => undefined);
  return found?.digest === digest ? found.content : undefined;
}

type Reading = Omit<ReadingObjects, "folder">;

type Content = { readonly content: Buffer; readonly digest: string };

async function readFile(path: Buffer, { calls, maxBytes }: Reading): Promise<Content | undefined> {
  const fd = await calls.open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const size = Number((await calls.fstat(fd)).size);
    if (size > maxBytes) return undefined;
    const content = Buffer.allocUnsafe(size);
    const hash = createHash("sha256");
    let position = 0;
    for (let bytes = -1; bytes !== 0 && position < size; position += bytes) {
      const piece = content.subarray(position, position + PIECE_BYTES);
      bytes = await calls.read(fd, piece, position);
      hash.update(piece.subarray(0, bytes));
    }
    return { content: content.subarray(0, position), digest: hash.digest("hex") };
  } finally {
    closeSync(fd);
  }
}
