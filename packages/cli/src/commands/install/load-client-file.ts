import { accessSync, constants, lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { BudgieError } from "@budgie/core";

/** A client's configuration file as it was read. */
export type ClientFile = {
  /** The path for messages, with symlinks */
  readonly path: string;
  /** The path with symlinks resolved */
  readonly real: string;
  /** The text without a byte order mark; empty for a missing file */
  readonly text: string;
  /** `undefined` for a missing file */
  readonly found:
    | { readonly bytes: Buffer; readonly mode: number; readonly uid: number; readonly gid: number }
    | undefined;
};

// Claude Code's file grows to a few MiB; a larger file is something else.
const LARGEST_BYTES = 64 * 1024 ** 2;

/** Loads a client's configuration. Its symlinks must not lead out of the directory `within`. */
export function loadClientFile(path: string, within: string | undefined): ClientFile {
  return translating(path, () => {
    const real = resolveRealPath(path);
    if (within !== undefined) refuseOutside(path, { real, within: realpathSync(within) });
    const stats = statSync(real, { throwIfNoEntry: false });
    if (stats === undefined) return { path, real, text: "", found: undefined };
    if (!stats.isFile() || stats.size > LARGEST_BYTES) throw refusalError(path, "it is not a file of settings");
    accessSync(real, constants.W_OK);
    const bytes = readFileSync(real);
    const { gid, mode, uid } = stats;
    return { path, real, text: decodeText(path, bytes), found: { bytes, gid, uid, mode: mode & 0o7777 } };
  });
}

/** Loads budgie's own configuration file, which need not exist, to change it. */
export function loadOwnFile(path: string): ClientFile {
  const file = loadClientFile(path, undefined);
  // Someone else may choose the target of a symlink.
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true) {
    throw refusalError(path, `it is a symlink; name "${file.real}" itself`);
  }
  return file;
}

/** Runs work on a client's file, and translates system errors into `CONFIG_INVALID`. */
export function translating<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (cause instanceof BudgieError || code === undefined) throw cause;
    throw refusalError(path, `the system says ${code}`, cause);
  }
}

/** Returns the error for a file that cannot be edited. */
export function refusalError(path: string, why: string, cause?: unknown): BudgieError {
  return new BudgieError("CONFIG_INVALID", `Cannot edit "${path}": ${why}. Nothing was changed.`, { cause });
}

/** Resolves the symlinks of a path, whose last parts may be missing. */
function resolveRealPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ENOENT") throw cause;
    const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    if (isLink) throw refusalError(path, "it is a dangling symlink", cause);
    return join(resolveRealPath(dirname(path)), basename(path));
  }
}

/** Throws for a file outside the project: symlinks of a foreign repository must not select other files of the user. */
function refuseOutside(path: string, { real, within }: { readonly real: string; readonly within: string }): void {
  const [first] = relative(within, real).split(sep);
  if (first === "..") throw refusalError(path, `it leads out of the project, to "${real}"`);
}

function decodeText(path: string, bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw refusalError(path, "it is not text in UTF-8", cause);
  }
}
