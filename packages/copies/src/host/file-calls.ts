import fs, { type BigIntStats, type Stats } from "node:fs";
import { setImmediate as letOthersWork } from "node:timers/promises";
import { promisify } from "node:util";
import { isLocalFolder, type FolderHandle } from "@budgie/core/walk";

/** The calls of the file system that a change set takes for each of its files. None follows a symlink but `open`, unless its flags forbid it. */
export type FileCalls = {
  readonly link: (from: Buffer, to: Buffer) => Promise<void>;
  readonly rename: (from: Buffer, to: Buffer) => Promise<void>;
  readonly unlink: (path: Buffer) => Promise<void>;
  readonly lstat: (path: Buffer) => Promise<BigIntStats>;
  /** Looks at many names of one folder, each a stat or the code of an error */
  readonly lstatAll: (folder: FolderHandle, names: readonly string[]) => Promise<readonly (Stats | string)[]>;
  readonly open: (path: Buffer, flags: number | string, mode?: number) => Promise<number>;
  readonly fstat: (fd: number) => Promise<BigIntStats>;
  /** Returns the number of bytes, which is 0 at the end */
  readonly read: (fd: number, into: Buffer, position: number) => Promise<number>;
  /** Writes all of a content */
  readonly write: (fd: number, content: Buffer) => Promise<void>;
  readonly fchmod: (fd: number, mode: number) => Promise<void>;
  readonly fchown: (fd: number, uid: number, gid: number) => Promise<void>;
  readonly fsync: (fd: number) => Promise<void>;
};

/**
 * Chooses the calls for a folder. A local file system is called directly, which takes a quarter of the time. A file server may never answer, so
 * there the thread pool waits.
 */
export async function chooseFileCalls(folder: Buffer | string): Promise<FileCalls> {
  return (await isLocalFolder(folder)) ? createDirectCalls() : POOLED;
}

// The time after which calls in a row let timers and other calls of the process have a turn.
const MOST_IN_A_ROW_MS = 10;

/** The bytes that one call reads or writes, since a direct one stops the process for as long as it takes. */
export const PIECE_BYTES = 256 * 1024;

function createDirectCalls(): FileCalls {
  let endsAt = 0;

  function toCall<Given extends readonly unknown[], Result>(call: (...given: Given) => Result) {
    return async (...given: Given): Promise<Result> => {
      if (performance.now() > endsAt) {
        await letOthersWork();
        endsAt = performance.now() + MOST_IN_A_ROW_MS;
      }
      return call(...given);
    };
  }

  const writePiece = toCall((fd: number, piece: Buffer) => fs.writeFileSync(fd, piece));

  return {
    link: toCall(fs.linkSync),
    rename: toCall(fs.renameSync),
    unlink: toCall(fs.unlinkSync),
    lstat: toCall((path: Buffer) => fs.lstatSync(path, BIG)),
    lstatAll: toCall((folder: FolderHandle, names: readonly string[]) => lstatEach(folder, names)),
    open: toCall(fs.openSync),
    fstat: toCall((fd: number) => fs.fstatSync(fd, BIG)),
    read: toCall((fd: number, into: Buffer, at: number) => fs.readSync(fd, into, 0, into.length, at)),
    async write(fd, content) {
      for (let from = 0; from < content.length; from += PIECE_BYTES) {
        await writePiece(fd, content.subarray(from, from + PIECE_BYTES));
      }
    },
    fchmod: toCall(fs.fchmodSync),
    fchown: toCall(fs.fchownSync),
    // A disk takes so long that the thread pool costs nothing.
    fsync: promisify(fs.fsync),
  };
}

const BIG = { bigint: true } as const;

/** Looks at names without a promise for each, which would take longer than the look. */
function lstatEach({ at }: FolderHandle, names: readonly string[]): readonly (Stats | string)[] {
  return names.map((name) => {
    try {
      return fs.lstatSync(`${at.toString()}/${name}`, { throwIfNoEntry: false }) ?? "ENOENT";
    } catch (error) {
      return toCode(error);
    }
  });
}

function toCode(error: unknown): string {
  return String((error as NodeJS.ErrnoException).code);
}

/** The calls in threads of the pool. */
export const POOLED: FileCalls = {
  link: promisify(fs.link),
  rename: promisify(fs.rename),
  unlink: promisify(fs.unlink),
  lstat: (path) => promisify(fs.lstat)(path, BIG),
  lstatAll: ({ at }, names) =>
    Promise.all(names.map((name) => promisify(fs.lstat)(`${at.toString()}/${name}`).catch(toCode))),
  open: (path, flags, mode) => promisify(fs.open)(path, flags, mode),
  fstat: (fd) => promisify(fs.fstat)(fd, BIG),
  read: async (fd, into, at) => (await promisify(fs.read)(fd, into, 0, into.length, at)).bytesRead,
  write: promisify(fs.writeFile),
  fchmod: promisify(fs.fchmod),
  fchown: promisify(fs.fchown),
  fsync: promisify(fs.fsync),
};
