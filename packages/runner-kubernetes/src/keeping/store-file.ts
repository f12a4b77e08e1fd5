import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open, rm } from "node:fs/promises";
import { basename } from "node:path";
import { BudgieError } from "@budgie/core";
import type { KeptFile } from "./kept-records.ts";

/** Stores bytes in a new file of budgie's own user. Rejects with `DISK_LIMIT` if there are too many; nothing is left if it rejects. */
export async function storeFile(pieces: AsyncIterable<Buffer>, path: string, mostBytes: number): Promise<KeptFile> {
  const hash = createHash("sha256");
  let bytes = 0;
  try {
    await using file = await open(path, "wx", 0o600);
    for await (const piece of pieces) {
      bytes += piece.length;
      if (bytes > mostBytes) throw tooMuchError(mostBytes);
      hash.update(piece);
      await file.writeFile(piece);
    }
    // It has to be on the disk before the record that names it.
    await file.sync();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
  return { name: basename(path), bytes, sha256: hash.digest("hex") };
}

/** Yields the bytes of a file. Rejects before the last of them if it is not the one that was stored. */
export async function* loadFile(path: string, { bytes, sha256 }: KeptFile): AsyncGenerator<Buffer> {
  const hash = createHash("sha256");
  let left = bytes;
  let last: Buffer | undefined;
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    for await (const piece of file.createReadStream({ highWaterMark: PIECE_BYTES }) as AsyncIterable<Buffer>) {
      if (last !== undefined) yield last;
      hash.update(piece);
      left -= piece.length;
      last = piece;
    }
  } catch (error) {
    throw damagedError(path, error);
  }
  // Without it the Pod's volume is not whole, and counts for nothing.
  if (left !== 0 || hash.digest("hex") !== sha256) throw damagedError(path);
  if (last !== undefined) yield last;
}

const PIECE_BYTES = 256 * 1024;

function tooMuchError(mostBytes: number): BudgieError {
  return new BudgieError(
    "DISK_LIMIT",
    `What the session has in its Pod takes more than the ${Math.floor(mostBytes / 2 ** 20)} MiB that are kept of it, perhaps by files with holes. ` +
      `Have the agent remove what it made, or raise the limits.`,
  );
}

function damagedError(path: string, cause?: unknown): BudgieError {
  return new BudgieError(
    "SESSION_UNUSABLE",
    `The file "${path}" of the kept session is missing or damaged. Leave the session id out to begin a new session.`,
    { cause },
  );
}
