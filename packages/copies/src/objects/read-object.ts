import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";

/** Reads an object and compares it with its digest; `undefined` if it is missing, damaged, or larger than `maxBytes`. */
export async function readObject(folder: string, digest: string, maxBytes: number): Promise<Buffer | undefined> {
  if (!/^[0-9a-f]{64}$/.test(digest)) return undefined;
  const content = await readFile(join(folder, digest), maxBytes).catch(() => undefined);
  if (content === undefined) return undefined;
  return createHash("sha256").update(content).digest("hex") === digest ? content : undefined;
}

async function readFile(path: string, maxBytes: number): Promise<Buffer | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const { size } = await file.stat();
    return size > maxBytes ? undefined : await file.readFile();
  } finally {
    await file.close();
  }
}
