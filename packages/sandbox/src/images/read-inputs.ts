import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { platform } from "node:os";
import { readEntries } from "@budgie/core/bounds";

/** A file that an image is built from. */
export type InputFile = {
  /** Relative to the folder of the context, with slashes */
  readonly path: string;
  readonly bytes: Buffer;
  readonly isExecutable: boolean;
};

/** The most that an image may be built from: files, bytes of them all, and levels of folders. */
export const MOST_INPUTS = { files: 256, bytes: 4 * 2 ** 20, depth: 8 } as const;

// A pipe would block without O_NONBLOCK.
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Reads all files of a folder below a directory, or only one of them, in the order of their names. Follows no symlink below the directory.
 * Returns `undefined` if there is none. Throws for a link, for what is neither file nor folder, and for more than {@link MOST_INPUTS}.
 */
export function readInputs(directory: string, folder: string, only?: string): readonly InputFile[] | undefined {
  const root = openDirectory(directory);
  if (root === undefined) return undefined;
  try {
    const opened = folder === "." ? root : openEntry(root, folder, { flags: constants.O_DIRECTORY });
    if (opened === undefined) return undefined;
    try {
      return only === undefined ? readAll(opened) : readOne(opened, only);
    } finally {
      if (opened !== root) closeSync(opened.fd);
    }
  } finally {
    closeSync(root.fd);
  }
}

/** Opens the directory; `undefined` if it is gone. */
function openDirectory(path: string): Opened | undefined {
  try {
    return openIn(path, constants.O_DIRECTORY);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw new Error(`cannot be opened (${code})`, { cause });
  }
}

type Opened = { readonly fd: number; readonly path: string };

type Left = { files: number; bytes: number };

function readOne(folder: Opened, name: string): readonly InputFile[] | undefined {
  const file = openEntry(folder, name);
  return file && [readFile(file, name, { ...MOST_INPUTS })];
}

function readAll(root: Opened): readonly InputFile[] {
  const left: Left = { ...MOST_INPUTS };
  const walk = (folder: Opened, prefix: string, depth: number): readonly InputFile[] => {
    if (depth > MOST_INPUTS.depth) throw new Error(`has more than ${MOST_INPUTS.depth} levels of folders`);
    const entries = readEntries(toPath(folder), MOST_INPUTS.files + 1);
    if (entries.length > MOST_INPUTS.files) throw tooMany();
    const names = entries.map(({ name }) => name).toSorted();
    return names.flatMap((name) => {
      const path = `${prefix}${name}`;
      const entry = openEntry(folder, name, { shown: path });
      if (entry === undefined) throw new Error(`changes while it is read`);
      if (!fstatSync(entry.fd).isDirectory()) return [readFile(entry, path, left)];
      try {
        return walk(entry, `${path}/`, depth + 1);
      } finally {
        closeSync(entry.fd);
      }
    });
  };
  return walk(root, "", 1);
}

/** Reads and closes an open file. */
function readFile({ fd }: Opened, path: string, left: Left): InputFile {
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw new Error(`has ${JSON.stringify(path)}, which is no regular file`);
    left.files -= 1;
    left.bytes -= stats.size;
    if (left.files < 0) throw tooMany();
    if (left.bytes < 0) throw new Error(`has more than ${MOST_INPUTS.bytes / 2 ** 20} MiB of files`);
    const bytes = Buffer.alloc(stats.size);
    let length = 0;
    for (let count = -1; count !== 0 && length < bytes.length; length += count) {
      count = readSync(fd, bytes, length, bytes.length - length, null);
    }
    return { path, bytes: bytes.subarray(0, length), isExecutable: (stats.mode & 0o111) !== 0 };
  } finally {
    closeSync(fd);
  }
}

function tooMany(): Error {
  return new Error(`has more than ${MOST_INPUTS.files} files`);
}

function openIn(path: string, flags: number): Opened {
  return { fd: openSync(path, FLAGS | flags), path };
}

type Opening = { readonly flags?: number; readonly shown?: string };

/** Opens an entry of an open folder, which no rename leads elsewhere; `undefined` for a missing one. Throws for a symlink. */
function openEntry(folder: Opened, name: string, { flags = 0, shown = name }: Opening = {}): Opened | undefined {
  try {
    return openIn(`${toPath(folder)}/${name}`, flags);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    // A symlink that should be a folder is ENOTDIR.
    const isLink = code === "ELOOP" || code === "EMLINK" || code === "ENOTDIR";
    const why = isLink ? "which is a symlink, or no folder" : `which cannot be read (${code})`;
    throw new Error(`has ${JSON.stringify(shown)}, ${why}`, { cause });
  }
}

/** Returns the path of an open folder, which on Linux no symlink can redirect. */
function toPath({ fd, path }: Opened): string {
  return platform() === "linux" ? `/proc/self/fd/${fd}` : path;
}
