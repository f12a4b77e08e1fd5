import { createReadStream } from "node:fs";
import { mkdir, open, readdir, rename, rm, stat, utimes, writeFile, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { isSessionId } from "@budgie/core";
import type { CopyReport } from "@budgie/core/errors";
import type { Manifest, TreeEntry } from "@budgie/core/copies";
import { parseBoundedJson } from "@budgie/core/bounds";
import { syncEntry } from "../host/sync-all.ts";

/** The directory as it was when a session's copy was made. */
export type Base = {
  readonly fillId: string;
  readonly directory: string;
  readonly report: Omit<CopyReport, "changes" | "isReused" | "refreshed">;
  /** The hashes that references of its repository named */
  readonly tips: readonly string[];
  readonly manifest: Manifest;
  /** The time before the directory was read; left out by older budgies */
  readonly startedMs?: number | undefined;
  /** The id of the set that has the agent's changes while the copy is filled again, empty for none; left out otherwise */
  readonly refreshing?: string | undefined;
  /** True if the copy was filled with the agent's changes too, which the manifest has not; default false */
  readonly isRefreshed?: boolean | undefined;
};

/** The bases of all sessions of a state directory, each in a file. */
export type BaseFiles = {
  /**
   * Saves the base of a copy once that is filled: without it, the copy is filled again. One of a refresh is on the disk then, since the agent's work
   * depends on it
   */
  readonly save: (sessionId: string, base: Base) => Promise<void>;
  /** Resolves once the session's base is on the disk; rejects if the disk fails */
  readonly synced: (sessionId: string) => Promise<void>;
  /** Resolves to `undefined` if there is none that can be read */
  readonly load: (sessionId: string) => Promise<Base | undefined>;
  /** Notes that it is used now */
  readonly touch: (sessionId: string) => Promise<void>;
  /** Removes those that were not used for some time */
  readonly sweep: (olderThanMs: number) => Promise<void>;
};

/** Opens the folder of the bases, which need not exist. */
export function openBaseFiles(folder: string): BaseFiles {
  const held = createHeldBases();
  const syncing = new Map<string, Promise<void>>();
  const pathOf = (sessionId: string): string => {
    if (!isSessionId(sessionId)) throw new TypeError("A base belongs to a session.");
    return join(folder, `${sessionId}.jsonl`);
  };
  return {
    async save(sessionId, { manifest, ...facts }) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const path = pathOf(sessionId);
      // After a power failure the old base would not name the set that has the agent's work.
      const mustLast = facts.refreshing !== undefined || facts.isRefreshed === true;
      const file = await open(`${path}.new`, "w", 0o600);
      try {
        await writeFile(file, toLines([facts, ...manifest.entries]));
        if (mustLast) await file.sync();
        held.forget(path);
        await rename(`${path}.new`, path);
      } catch (error) {
        await file.close();
        throw error;
      }
      // An agent has written nothing yet that could be lost with the base, so that its start need not wait for the disk.
      const promise = syncAndClose(file, folder);
      syncing.set(sessionId, promise);
      promise.then(
        () => syncing.get(sessionId) === promise && syncing.delete(sessionId),
        () => undefined,
      );
      if (mustLast) await promise;
    },
    synced: async (sessionId) => syncing.get(sessionId),
    async load(sessionId) {
      const path = pathOf(sessionId);
      try {
        const { birthtimeMs, ino, size } = await stat(path);
        // Each save makes a new file.
        const version = `${ino} ${birthtimeMs} ${size}`;
        return held.find(path, version) ?? held.keep(path, version, await read(path));
      } catch {
        return undefined;
      }
    },
    touch: (sessionId) => utimes(pathOf(sessionId), new Date(), new Date()).catch(() => undefined),
    async sweep(olderThanMs) {
      for (const name of await readdir(folder).catch(() => [])) {
        const file = join(folder, name);
        const found = await stat(file).catch(() => undefined);
        if (found !== undefined && Date.now() - found.mtimeMs > olderThanMs) await rm(file, { force: true });
      }
    },
  };
}

async function syncAndClose(file: FileHandle, folder: string): Promise<void> {
  try {
    await file.sync();
  } finally {
    await file.close();
  }
  await syncEntry(Buffer.from(`${folder}/.`));
}

// Some megabytes.
const MOST_HELD = 50_000;

/** Keeps the bases that were read last, which a turn needs several times: those of few entries in sum. */
function createHeldBases() {
  const bases = new Map<string, { readonly version: string; readonly base: Base }>();
  const count = (): number => [...bases.values()].reduce((sum, { base }) => sum + base.manifest.entries.length, 0);
  return {
    forget: (path: string): void => void bases.delete(path),
    find(path: string, version: string): Base | undefined {
      const found = bases.get(path);
      return found?.version === version ? found.base : undefined;
    },
    keep(path: string, version: string, base: Base): Base {
      bases.delete(path);
      bases.set(path, { version, base });
      for (const oldest of bases.keys()) {
        if (count() <= MOST_HELD) break;
        bases.delete(oldest);
      }
      return base;
    },
  };
}

const PIECE = 64 * 1024;

/** Yields the lines of values, many at once, since each piece is written by a call of its own. */
function* toLines(values: readonly unknown[]): Generator<string> {
  let lines = "";
  for (const value of values) {
    lines += `${JSON.stringify(value)}\n`;
    if (lines.length < PIECE) continue;
    yield lines;
    lines = "";
  }
  yield lines;
}

// An entry has few values; the facts name some paths for each reason.
const LINE_BOUNDS = { values: 10_000, depth: 20 };

async function read(path: string): Promise<Base> {
  const input = createReadStream(path);
  const lines = createInterface({ input, crlfDelay: Infinity });
  let facts: Omit<Base, "manifest"> | undefined;
  const entries: TreeEntry[] = [];
  for await (const line of lines) {
    // budgie's own file, in a folder that only its user reads.
    const value = parseBoundedJson(line, LINE_BOUNDS);
    if (facts === undefined) facts = value as Omit<Base, "manifest">;
    else entries.push(value as TreeEntry);
  }
  if (facts === undefined) throw new Error("The file is empty.");
  // Bases of earlier versions have none.
  return { ...facts, tips: facts.tips ?? [], manifest: { entries } };
}
