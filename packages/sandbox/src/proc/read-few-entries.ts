import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readlinkSync,
  type BigIntStats,
} from "node:fs";

/** An entry of a small tree. */
export type FewEntry = {
  /** The bytes of its path below the folder, which is itself the entry "", each as a character of latin1 */
  readonly bytes: string;
  readonly facts: BigIntStats;
  /** The bytes of a symlink's target; empty for anything else */
  readonly target: string;
};

// As many take about as long to read here as a program takes to start.
const MOST_ENTRIES = 1000;
const MOST_FOLDERS = 32;

/**
 * Reads what is in an open folder and below it, parents first, without following symlinks: starting a program for it takes much longer for the
 * few files of most homes and copies. Returns `undefined` if there are more, or if anything is out of the ordinary.
 */
export function readFewEntries(
  { fd }: { readonly fd: number },
  mayEnter: (entry: FewEntry) => boolean = () => true,
): readonly FewEntry[] | undefined {
  const found: FewEntry[] = [];
  let folders = 1;

  /** Adds what is in a folder. An agent decides the number of its entries, so that of those that are read is limited. */
  function add(folder: number, above: string): void {
    const names = listNames(folder, MOST_ENTRIES - found.length);
    folders += names.filter((entry) => entry.isDirectory()).length;
    // Many folders in one tell of many entries before any of them is read.
    if (folders > MOST_FOLDERS) throw new RangeError("There are too many folders.");
    for (const { name } of names) addEntry(`/proc/self/fd/${folder}/${name}`, above + name);
  }

  function addEntry(path: string, bytes: string): void {
    const place = Buffer.from(path, "latin1");
    const facts = lstatSync(place, { bigint: true });
    const target = facts.isSymbolicLink() ? readlinkSync(place, "latin1") : "";
    const entry = { bytes, facts, target };
    found.push(entry);
    if (facts.isDirectory() && mayEnter(entry)) addFolder(place, bytes);
  }

  function addFolder(place: Buffer, bytes: string): void {
    // An agent may have put a symlink in its place.
    const folder = openSync(place, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    try {
      add(folder, `${bytes}/`);
    } finally {
      closeSync(folder);
    }
  }

  try {
    found.push({ bytes: "", facts: fstatSync(fd, { bigint: true }), target: "" });
    add(fd, "");
    return found;
  } catch {
    return undefined;
  }
}

/** Lists the names in an open folder, each byte as a character of latin1. Throws if there are more than `most`. */
function listNames(folder: number, most: number) {
  const reading = opendirSync(`/proc/self/fd/${folder}`, { encoding: "latin1", bufferSize: 128 });
  try {
    const names = [];
    for (let next = reading.readSync(); next !== null; next = reading.readSync()) {
      names.push(next);
      if (names.length > most) throw new RangeError("There are too many entries.");
    }
    return names;
  } finally {
    reading.closeSync();
  }
}
