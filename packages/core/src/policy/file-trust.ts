import { createHash } from "node:crypto";
import { appendFileSync, lstatSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { BudgieError } from "../errors.ts";
import { parseJson } from "../text/parse-json.ts";
import { replaceFile } from "../text/replace-file.ts";

/** The directories that agents in sandboxes could ever write, and the files in them that the user trusts nevertheless. */
export type FileTrust = {
  /** Remembers a directory, by its real path, before an agent may write there. Throws if that fails. */
  readonly note: (directory: string) => void;
  /** Throws for a file in such a directory, unless the user trusts these bytes of it. */
  readonly check: (path: string, bytes: Uint8Array) => void;
  /** Returns the remembered directory that holds a file; `undefined` if there is none */
  readonly findDirectory: (path: string) => string | undefined;
  /** Trusts these bytes of a file, in place of earlier ones. */
  readonly trust: (path: string, bytes: Uint8Array) => void;
};

// Some hundred thousand directories. Beyond it no settings are read, and no agent may write anywhere.
const LARGEST_BYTES = 32 * 2 ** 20;

/** Opens what a state directory remembers. `toCommand` returns the command by which the user trusts a file. */
export function openFileTrust(stateDir: string, toCommand: (path: string) => string): FileTrust {
  const [directoriesFile, trustedFile] = [join(stateDir, "written-directories"), join(stateDir, "trusted-files.json")];
  const directories = createCached(directoriesFile, readDirectories);
  const trusted = createCached(trustedFile, readHashes);

  const findDirectory = (path: string): string | undefined => {
    const { identities, paths } = directories();
    // A directory that was moved or is mounted elsewhere has another path, and is the same.
    if (paths.size === 0) return undefined;
    return listAncestors(path).find((place) => paths.has(place) || identities.has(readIdentity(place)));
  };

  return {
    findDirectory,
    note(directory) {
      if (findDirectory(directory) !== undefined) return;
      mkdirSync(stateDir, { recursive: true, mode: 0o700 });
      // Several budgies may append at once: a short line is written whole.
      // A line that a full disk cut off before must not take this one with it.
      appendFileSync(directoriesFile, `\n${JSON.stringify([directory, readIdentity(directory)])}\n`, { mode: 0o600 });
      if (findDirectory(directory) === undefined) throw new Error("it was not written");
    },
    check(path, bytes) {
      const directory = findDirectory(path);
      if (directory === undefined || trusted()[path] === hashBytes(bytes)) return;
      throw new Error(
        `it lies in "${directory}", where agents could write, and nobody has trusted it since. At a terminal, "${toCommand(path)}" shows and trusts it`,
      );
    },
    trust(path, bytes) {
      mkdirSync(stateDir, { recursive: true, mode: 0o700 });
      replaceFile(trustedFile, JSON.stringify({ ...trusted(), [path]: hashBytes(bytes) }));
    },
  };
}

/** Remembers a directory before something of an agent is written there. Throws `STATE_UNUSABLE` if that fails. */
export function noteDirectory(trust: Pick<FileTrust, "note">, directory: string): void {
  try {
    trust.note(directory);
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? String(cause);
    const message = `Cannot remember in the state directory that an agent may write in "${directory}" (${reason}). Make it writable, or make room there.`;
    throw new BudgieError("STATE_UNUSABLE", message, { cause });
  }
}

/** Returns a function that reads a file again only if it has changed. */
function createCached<Value>(file: string, read: (text: string) => Value): () => Value {
  let known: { readonly stamp: string; readonly value: Value } | undefined;
  return () => {
    const stamp = readStamp(file);
    if (known?.stamp !== stamp) known = { stamp, value: read(stamp === "" ? "" : readFileSync(file, "utf8")) };
    return known.value;
  };
}

/** Returns the file's identity and time; empty for a missing file. Throws for anything that budgie does not write there. */
function readStamp(file: string): string {
  const stats = lstatSync(file, { throwIfNoEntry: false, bigint: true });
  if (stats === undefined) return "";
  if (stats.isFile() && stats.size <= LARGEST_BYTES) return [stats.ino, stats.size, stats.mtimeNs].join();
  throw new Error(`"${file}" is not a file of budgie's: look at it, and remove it`);
}

type Directories = { readonly paths: ReadonlySet<unknown>; readonly identities: ReadonlySet<unknown> };

function readDirectories(text: string): Directories {
  // A line that a full disk cut off is not one that names a directory.
  const entries = text.split("\n").flatMap((line) => {
    const entry = line === "" ? undefined : tryParse(line);
    if (typeof entry === "string") return [[entry]];
    return Array.isArray(entry) ? [entry as readonly unknown[]] : [];
  });
  return {
    paths: new Set(entries.map(([path]) => path)),
    identities: new Set(entries.flatMap(([, identity]) => identity ?? [])),
  };
}

/** Returns a path and the folders that hold it, up to the root. */
function listAncestors(path: string): readonly string[] {
  const parent = dirname(path);
  return parent === path ? [path] : [path, ...listAncestors(parent)];
}

/** Returns what a directory keeps when it is moved; `undefined` for a missing one, and where the file system notes no births. */
function readIdentity(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false, bigint: true });
  // A removed directory's number is given to another one, which is born later. A file system's own number changes with its mount.
  return stats?.isDirectory() && stats.birthtimeNs > 0n ? `${stats.ino}-${stats.birthtimeNs}` : undefined;
}

function readHashes(text: string): Readonly<Record<string, unknown>> {
  return { ...Object(tryParse(text)) } as Readonly<Record<string, unknown>>;
}

function tryParse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function hashBytes(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}
