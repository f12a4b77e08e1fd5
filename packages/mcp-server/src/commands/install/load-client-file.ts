import { accessSync, constants, lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { BudgieError } from "@budgie/core";

/** A configuration file as it was found. */
export type ClientFile = {
  /** As the client names it, for people */
  readonly path: string;
  /** Where it really is, once its links are followed */
  readonly real: string;
  /** All of it but a byte order mark; empty of one that is not there */
  readonly text: string;
  /** `undefined` if it is not there */
  readonly found:
    | { readonly bytes: Buffer; readonly mode: number; readonly uid: number; readonly gid: number }
    | undefined;
};

// Claude Code's own grows to a few; what is larger is something else.
const LARGEST_BYTES = 64 * 1024 ** 2;

/** Reads a client's configuration; `within` is the directory that its links must not lead out of. */
export function loadClientFile(path: string, within: string | undefined): ClientFile {
  return translating(path, () => {
    const real = resolveRealPath(path);
    if (within !== undefined) refuseOutside(path, { real, within: realpathSync(within) });
    const stats = statSync(real, { throwIfNoEntry: false });
    if (stats === undefined) return { path, real, text: "", found: undefined };
    if (!stats.isFile() || stats.size > LARGEST_BYTES) throw toRefusal(path, "it is not a file of settings");
    accessSync(real, constants.W_OK);
    const bytes = readFileSync(real);
    const { gid, mode, uid } = stats;
    return { path, real, text: decodeText(path, bytes), found: { bytes, gid, uid, mode: mode & 0o7777 } };
  });
}

/** Runs what touches a client's file, and says in budgie's words why the system refused. */
export function translating<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (cause instanceof BudgieError || code === undefined) throw cause;
    throw toRefusal(path, `the system says ${code}`, cause);
  }
}

/** The refusal of a file for a reason. */
export function toRefusal(path: string, why: string, cause?: unknown): BudgieError {
  return new BudgieError("CONFIG_INVALID", `Cannot edit "${path}": ${why}. Nothing was changed.`, { cause });
}

/** Also of what is not there yet: links of its folders count. */
function resolveRealPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ENOENT") throw cause;
    const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    if (isLink) throw toRefusal(path, "it is a link that leads nowhere", cause);
    return join(resolveRealPath(dirname(path)), basename(path));
  }
}

/** A repository is somebody else's: its links must not choose what else of the user is edited. */
function refuseOutside(path: string, { real, within }: { readonly real: string; readonly within: string }): void {
  const [first] = relative(within, real).split(sep);
  if (first === "..") throw toRefusal(path, `it leads out of the project, to "${real}"`);
}

function decodeText(path: string, bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw toRefusal(path, "it is not text in UTF-8", cause);
  }
}
