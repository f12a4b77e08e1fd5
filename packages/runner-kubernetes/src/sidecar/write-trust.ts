import { rename, rm, writeFile } from "node:fs/promises";
import { dirname, basename, join } from "node:path";
import type { Readable } from "node:stream";
import { BudgieError } from "@budgie/core";

// The volume is in memory, and has `hold` too.
const MOST_BYTES = 2 * 1024 * 1024;

/** Writes the user's certificates, which appear whole. */
export async function writeTrust(path: string, input: Readable): Promise<void> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of input.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > MOST_BYTES) throw largeError();
    pieces.push(piece);
  }
  const beside = join(dirname(path), `.${basename(path)}`);
  // A file that was left cannot be written to.
  await rm(beside, { force: true });
  await writeFile(beside, Buffer.concat(pieces), { mode: 0o444 });
  await rename(beside, path);
}

function largeError(): BudgieError {
  return new BudgieError(
    "CONFIG_INVALID",
    `The user's certificates take more than ${MOST_BYTES / 2 ** 20} MiB. Name a file with fewer of them.`,
  );
}
