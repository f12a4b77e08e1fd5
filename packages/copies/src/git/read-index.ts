/** The paths that git tracks, as bytes in latin1. */
export type TrackedPaths = {
  readonly files: ReadonlySet<string>;
  /** The folders of submodules */
  readonly submodules: ReadonlySet<string>;
};

/** The largest index that is read: some 600,000 files. */
export const LARGEST_INDEX_BYTES = 64 * 1024 ** 2;

/**
 * Reads the paths of git's index, of version 2, 3 or 4, whose hashes have `hashBytes`. Returns `undefined` if it has another form, is cut off, or
 * needs a second file: nothing is then known to be tracked.
 */
export function readIndex(index: Buffer, hashBytes: 20 | 32): TrackedPaths | undefined {
  if (index.length < HEADER_BYTES + hashBytes || index.toString("latin1", 0, 4) !== "DIRC") return undefined;
  const [version, count] = [index.readUInt32BE(4), index.readUInt32BE(8)];
  if (version < 2 || version > 4) return undefined;
  const reader: Reader = { index, end: index.length - hashBytes, hashBytes, version };
  const files = new Set<string>();
  const submodules = new Set<string>();
  let at = HEADER_BYTES;
  let path = "";
  for (let left = count; left > 0; left--) {
    const entry = readEntry(reader, at, path);
    if (entry === undefined) return undefined;
    ({ next: at, path } = entry);
    // A sparse index names whole folders, whose files are not in the directory.
    if (entry.type === SUBMODULE) submodules.add(path);
    else if (entry.type !== FOLDER) files.add(path);
  }
  return isWhole(reader, at) ? { files, submodules } : undefined;
}

const HEADER_BYTES = 12;
const FOLDER = 0o040000;
const SUBMODULE = 0o160000;
// Times, device, inode, mode, user, group and size of a file.
const STAT_BYTES = 40;
const EXTENDED = 0x4000;

type Reader = { readonly index: Buffer; readonly end: number; readonly hashBytes: number; readonly version: number };
type Entry = { readonly path: string; readonly type: number; readonly next: number };

function readEntry(reader: Reader, start: number, previous: string): Entry | undefined {
  const { end, hashBytes, index, version } = reader;
  const flagsAt = start + STAT_BYTES + hashBytes;
  if (flagsAt + 2 > end) return undefined;
  const isExtended = (index.readUInt16BE(flagsAt) & EXTENDED) !== 0;
  if (isExtended && version === 2) return undefined;
  const nameAt = flagsAt + (isExtended ? 4 : 2);
  const type = index.readUInt32BE(start + 24) & 0o170000;
  const name = version === 4 ? readSharedName(reader, nameAt, previous) : readName(reader, nameAt, "");
  if (name === undefined) return undefined;
  if (version === 4) return { ...name, type };
  // Each entry is filled up to a multiple of eight bytes, by at least one.
  const padded = start + Math.ceil((name.next - start) / 8) * 8;
  return { path: name.path, type, next: padded };
}

type Name = { readonly path: string; readonly next: number };

function readName({ end, index }: Reader, at: number, prefix: string): Name | undefined {
  const zero = index.indexOf(0, at);
  if (zero === -1 || zero >= end || zero === at || zero - at > LONGEST_PATH) return undefined;
  const path = prefix + index.toString("latin1", at, zero);
  return path.length > LONGEST_PATH ? undefined : { path, next: zero + 1 };
}

// Linux has no longer paths, and version 4 could otherwise make very many of few bytes.
const LONGEST_PATH = 4096;

/** Reads a name of version 4, which says how much of the name before it falls away. */
function readSharedName(reader: Reader, start: number, previous: string): Name | undefined {
  let at = start;
  let cut = 0;
  for (let byte = 0x80; (byte & 0x80) !== 0; at++) {
    if (at >= reader.end || cut > LONGEST_PATH) return undefined;
    byte = reader.index.readUInt8(at);
    cut = (at === start ? 0 : (cut + 1) * 128) + (byte & 0x7f);
  }
  return cut > previous.length ? undefined : readName(reader, at, previous.slice(0, previous.length - cut));
}

/** Returns true if only extensions follow that change nothing about the paths: their names begin with a capital letter. */
function isWhole({ end, index }: Reader, start: number): boolean {
  let at = start;
  while (at < end) {
    if (at + 8 > end) return false;
    const name = index.toString("latin1", at, at + 4);
    if (!/^[A-Z]/.test(name) && name !== "sdir") return false;
    at += 8 + index.readUInt32BE(at + 4);
  }
  return at === end;
}
