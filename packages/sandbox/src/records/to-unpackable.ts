import { createByteReader } from "./byte-reader.ts";
import { MOST_PATH_BYTES, notARecord } from "./from-records.ts";
import { HEADER_BYTES, KINDS, OWN_RIGHTS } from "./to-records.ts";

const MODE_AT = 4;
const CONTENT_KINDS: ReadonlySet<string> = new Set([KINDS.folder, KINDS.file, KINDS.link]);
// An agent may close any number of folders. The others stay open to their own user.
const MOST_CLOSED_BYTES = 4 * 1024 * 1024;

/**
 * Yields what the copier unpacks, of what it packed: folders that their user had closed are closed last, and there are no pipes and
 * sockets. Rejects if it is given anything else, or the records end early.
 */
export async function* toUnpackable(packed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const bytes = createByteReader(packed);
  const closed: Buffer[] = [];
  let room = MOST_CLOSED_BYTES;
  for (;;) {
    const header = await bytes.take(HEADER_BYTES);
    const kind = header.toString("latin1", 0, 1);
    if (kind === KINDS.end) {
      yield* closed.toReversed();
      return yield header;
    }
    const lengths = [header.readUInt32LE(8), header.readUInt32LE(12)] as const;
    if (Math.max(...lengths) > MOST_PATH_BYTES) throw notARecord();
    const names = await bytes.take(lengths[0] + lengths[1]);
    if (kind === KINDS.other) continue;
    if (!CONTENT_KINDS.has(kind)) throw notARecord();
    const closing = kind === KINDS.folder ? openUp(header) : undefined;
    if (closing !== undefined && (room -= HEADER_BYTES + names.length) >= 0)
      closed.push(Buffer.concat([closing, names]));
    yield Buffer.concat([header, names]);
    if (kind === KINDS.file) yield* bytes.pieces(Number(header.readBigUInt64LE(16)));
  }
}

/** Gives a folder's own user all rights, and returns the header that takes them away again; `undefined` for none. */
function openUp(header: Buffer): Buffer | undefined {
  const mode = header.readUInt32LE(MODE_AT);
  if ((mode & OWN_RIGHTS) === OWN_RIGHTS) return undefined;
  const closing = Buffer.from(header);
  closing.write(KINDS.mode, 0, "latin1");
  header.writeUInt32LE((mode | OWN_RIGHTS) >>> 0, MODE_AT);
  return closing;
}
