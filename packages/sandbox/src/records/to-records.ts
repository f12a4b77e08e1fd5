import type { Readable } from "node:stream";
import type { FilledEntry } from "@budgie/core/copies";

/** The length of the header of a record, as `forwarder/copier.c` has it. */
export const HEADER_BYTES = 32;
/** The letters of the kinds of records. */
export const KINDS = { folder: "d", file: "f", link: "l", other: "o", mode: "m", end: "e" } as const;

/** The rights without which a folder's own user could not fill it. */
export const OWN_RIGHTS = 0o700;

/** Yields the records that make these entries, and the end. */
export async function* toRecords(entries: AsyncIterable<FilledEntry>): AsyncGenerator<Buffer> {
  const closed: Buffer[] = [];
  for await (const { content, entry, mtimeMs = Date.now() } of entries) {
    const record = { path: entry.path, seconds: Math.floor(mtimeMs / 1000) };
    if (entry.kind === "link") yield toRecord({ ...record, kind: KINDS.link, target: entry.target });
    else if (entry.kind === "folder") {
      const isClosed = (entry.mode & OWN_RIGHTS) !== OWN_RIGHTS;
      yield toRecord({ ...record, kind: KINDS.folder, mode: entry.mode | OWN_RIGHTS });
      if (isClosed) closed.push(toRecord({ ...record, kind: KINDS.mode, mode: entry.mode }));
    } else {
      yield toRecord({ ...record, kind: KINDS.file, mode: entry.mode, size: entry.size });
      yield* exactly(content ?? Buffer.alloc(0), entry.size);
    }
  }
  // Each after the folders in it, which could not be reached otherwise.
  yield* closed.toReversed();
  yield toRecord({ kind: KINDS.end });
}

type RecordFacts = {
  readonly kind: string;
  readonly path?: string;
  readonly mode?: number;
  readonly size?: number;
  readonly seconds?: number;
  readonly target?: string;
};

function toRecord({ kind, mode = 0, path = "", seconds = 0, size = 0, target = "" }: RecordFacts): Buffer {
  const [name, link] = [Buffer.from(path), Buffer.from(target)];
  const header = Buffer.alloc(HEADER_BYTES);
  header.write(kind, 0, "latin1");
  for (const [index, value] of [mode, name.length, link.length].entries()) header.writeUInt32LE(value, 4 + 4 * index);
  header.writeBigUInt64LE(BigInt(size), 16);
  header.writeBigInt64LE(BigInt(seconds), 24);
  return Buffer.concat([header, name, link]);
}

/** Yields the content of a file, which has to have the size that its record says. */
async function* exactly(content: Buffer | Readable, size: number): AsyncGenerator<Buffer> {
  let left = size;
  for await (const piece of Buffer.isBuffer(content) ? [content] : (content as AsyncIterable<Buffer>)) {
    left -= piece.length;
    if (left < 0) break;
    yield piece;
  }
  if (left !== 0) throw new Error("The content of a file has another size than the file.");
}
