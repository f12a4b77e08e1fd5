import { Readable } from "node:stream";
import { BudgieError } from "@budgie/core";
import type { FoundEntry } from "@budgie/core/copies";
import { createByteReader, type ByteReader } from "./byte-reader.ts";
import { READ_BOUNDS, tooMuchError } from "./read-bounds.ts";
import { HEADER_BYTES, KINDS } from "./to-records.ts";

/** The length of the longest path, beyond any that the host takes, and that the copier prints. */
export const MOST_PATH_BYTES = 40_000;

/**
 * Yields the entries that the copier prints, of which it may have invented any. Rejects if there is too much, the records are none, or they
 * end before their end.
 */
export async function* fromRecords(
  source: AsyncIterable<Buffer>,
  bounds: typeof READ_BOUNDS = READ_BOUNDS,
): AsyncGenerator<FoundEntry> {
  const bytes = createByteReader(source);
  const left = { ...bounds };
  for (;;) {
    const { kind, mode, pathBytes, size, targetBytes } = parseHeader(await bytes.take(HEADER_BYTES));
    if (kind === KINDS.end) return;
    if (pathBytes === 0 || pathBytes > MOST_PATH_BYTES || targetBytes > MOST_PATH_BYTES) throw notARecord();
    const path = (await bytes.take(pathBytes)).toString();
    const target = (await bytes.take(targetBytes)).toString();
    left.entries -= 1;
    const takes = size + BigInt(pathBytes + targetBytes);
    if (left.entries < 0 || takes > BigInt(left.bytes)) throw tooMuchError(path);
    left.bytes -= Number(takes);
    yield* toFound({ path, kind, mode, size: Number(size), target }, bytes);
  }
}

function parseHeader(header: Buffer) {
  return {
    kind: header.toString("latin1", 0, 1),
    mode: header.readUInt32LE(4) & 0o777,
    pathBytes: header.readUInt32LE(8),
    targetBytes: header.readUInt32LE(12),
    size: header.readBigUInt64LE(16),
  };
}

type Facts = {
  readonly path: string;
  readonly kind: string;
  readonly mode: number;
  readonly size: number;
  readonly target: string;
};

async function* toFound({ kind, mode, path, size, target }: Facts, bytes: ByteReader): AsyncGenerator<FoundEntry> {
  if (kind === KINDS.folder) yield { entry: { path, kind: "folder", mode } };
  else if (kind === KINDS.link) yield { entry: { path, kind: "link", target } };
  else if (kind === KINDS.other) yield { entry: { path, kind: "other" } };
  else if (kind === KINDS.file) yield* readFile({ path, kind: "file", mode, size }, bytes);
  else throw notARecord();
}

async function* readFile(
  entry: Extract<FoundEntry["entry"], { kind: "file" }>,
  bytes: ByteReader,
): AsyncGenerator<FoundEntry> {
  const pieces = bytes.pieces(entry.size);
  const content = Readable.from(keepOpen(pieces), { objectMode: false });
  // A reader that stops early knows why.
  content.on("error", () => undefined);
  yield { entry, content };
  content.destroy();
  for await (const _piece of pieces);
}

/** Passes on what an iterator yields, and leaves it open for others when its reader stops. */
async function* keepOpen(pieces: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) yield next.value;
}

/** Returns the error of bytes that are no record. */
export function notARecord(): BudgieError {
  return new BudgieError(
    "SESSION_UNUSABLE",
    "The copy cannot be read: what came from it is no record. Begin a new session.",
  );
}
