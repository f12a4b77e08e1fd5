import { createHash } from "node:crypto";
import { closeSync, constants } from "node:fs";
import { join } from "node:path";
import type { FileCalls } from "../host/file-calls.ts";

export type ReadingObjects = { readonly folder: string; readonly maxBytes: number; readonly calls: FileCalls };

/** Reads an object and compares it with its digest; `undefined` if it is missing, damaged, or larger than `maxBytes`. */
export async function readObject(digest: string, { folder, ...reading }: ReadingObjects): Promise<Buffer | undefined> {
  if (!/^[0-9a-f]{64}$/.test(digest)) return undefined;
  const content = await readFile(Buffer.from(join(folder, digest)), reading).catch(() => undefined);
  if (content === undefined) return undefined;
  return createHash("sha256").update(content).digest("hex") === digest ? content : undefined;
}

type Reading = Omit<ReadingObjects, "folder">;

async function readFile(path: Buffer, { calls, maxBytes }: Reading): Promise<Buffer | undefined> {
  const fd = await calls.open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const size = Number((await calls.fstat(fd)).size);
    if (size > maxBytes) return undefined;
    const content = Buffer.allocUnsafe(size);
    let position = 0;
    for (let bytes = -1; bytes !== 0 && position < size; position += bytes) {
      bytes = await calls.read(fd, content.subarray(position), position);
    }
    return content.subarray(0, position);
  } finally {
    closeSync(fd);
  }
}
