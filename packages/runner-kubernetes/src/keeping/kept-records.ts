import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { BudgieError, isSessionId, type SessionId } from "@budgie/core";
import { isRecord, parseBoundedJson } from "@budgie/core/bounds";
import { parseOwnerRecord, type OwnerRecord } from "@budgie/core/owners";
import type { Volume } from "../requests/index.ts";

/** A session that has been packed, or will be. */
export type KeptRecord = {
  readonly id: SessionId;
  readonly owner: OwnerRecord;
  readonly created: Date;
  /** Time after its last use during which it outlives its owner; `undefined` if it does not */
  readonly keepMs: number | undefined;
  /** The state that was packed last; `undefined` before that */
  readonly packed?: PackedState | undefined;
  /** True once something has changed the session since, in a Pod */
  readonly isStale?: true | undefined;
};

/** The state of a session as files. */
export type PackedState = {
  readonly home: KeptFile;
  /** The copy of its workspace, and the id of its fill */
  readonly work?: KeptFile & { readonly fillId: string };
};

/** The records of a volume as a file. */
export type KeptFile = { readonly name: string; readonly bytes: number; readonly sha256: string };

/** A record that cannot be read. */
type CorruptRecord = { readonly path: string; readonly session: string; readonly why: string };

/** The table of sessions, and the folders of their files, in which each record appears whole. */
export type KeptRecords = {
  /** Returns the folder of a session's files */
  readonly folderOf: (id: SessionId) => string;
  /** Reads a session's record; `undefined` if it is missing or invalid. Throws `STATE_UNUSABLE` if nobody can tell, such as without file descriptors */
  readonly find: (id: SessionId) => Promise<KeptRecord | undefined>;
  readonly list: () => Promise<{ readonly records: readonly KeptRecord[]; readonly corrupt: readonly CorruptRecord[] }>;
  readonly write: (record: KeptRecord) => Promise<void>;
  /** Removes a session's files and its record */
  readonly remove: (id: SessionId) => Promise<void>;
};

const SUFFIX = ".json";
const BOUNDS = { values: 100, depth: 6 };
const NAMES: Readonly<Record<Volume, RegExp>> = { home: /^home-[0-9a-f-]{36}$/, work: /^work-[0-9a-f-]{36}$/ };

/** Creates the table below the state directory. */
export function createKeptRecords(stateDir: string): KeptRecords {
  const place = join(stateDir, "kubernetes-sessions");
  const pathOf = (id: string): string => join(place, `${id}${SUFFIX}`);
  const draftOf = (id: string): string => join(place, `${id}.draft`);

  return {
    folderOf: (id) => join(place, id),
    async find(id) {
      const bytes = await readFile(pathOf(id)).catch((error: unknown) => {
        if (isMissing(error)) return undefined;
        throw unreadableError(pathOf(id), error);
      });
      const record = bytes === undefined ? undefined : parseBytes(id, bytes);
      return typeof record === "string" ? undefined : record;
    },
    async list() {
      const ids = (await listNames(place)).flatMap((name) => (name.endsWith(SUFFIX) ? [basename(name, SUFFIX)] : []));
      const read = await Promise.all(ids.map(async (id) => ({ id, record: await readRecord(pathOf(id), id) })));
      return {
        records: read.flatMap(({ record }) => (typeof record === "object" ? [record] : [])),
        corrupt: read.flatMap(({ id, record }) =>
          typeof record === "string" ? [{ path: pathOf(id), session: id, why: record }] : [],
        ),
      };
    },
    async write({ created, id, ...record }) {
      await mkdir(place, { recursive: true, mode: 0o700 });
      // Atomically: another budgie may read it at any time.
      const text = JSON.stringify({ ...record, created: created.toISOString() });
      await writeFile(draftOf(id), text, { mode: 0o600, flush: true });
      await rename(draftOf(id), pathOf(id));
    },
    async remove(id) {
      // The record goes last: garbage collection finds files by it only.
      await rm(join(place, id), { recursive: true, force: true });
      await rm(draftOf(id), { force: true });
      await rm(pathOf(id), { force: true });
    },
  };
}

async function listNames(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** Reads a record. Returns the reason if it is invalid, and `undefined` if it is missing. */
async function readRecord(path: string, id: string): Promise<KeptRecord | string | undefined> {
  try {
    return parseBytes(id, await readFile(path));
  } catch (error) {
    return isMissing(error) ? undefined : toReason(error);
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}

function toReason(error: unknown): string {
  return `its record cannot be read (${(error as Error).message})`;
}

function parseBytes(id: string, bytes: Buffer): KeptRecord | string {
  try {
    return parseRecord(id, parseBoundedJson(bytes, BOUNDS));
  } catch (error) {
    return toReason(error);
  }
}

function parseRecord(id: string, data: unknown): KeptRecord | string {
  if (!isSessionId(id)) return "its record is not named after a session";
  if (!isRecord(data)) return "its record is no object";
  const { isStale, keepMs, packed } = data;
  const owner = parseOwnerRecord(data["owner"]);
  const created = parseDate(data["created"]);
  if (owner === undefined) return "no owner is recorded";
  if (created === undefined) return "no date is recorded";
  const state = packed === undefined ? undefined : parseState(packed);
  if (packed !== undefined && state === undefined) return "the recorded files are none of a session";
  return {
    id,
    owner,
    created,
    keepMs: typeof keepMs === "number" ? keepMs : undefined,
    packed: state,
    isStale: isStale === true ? true : undefined,
  };
}

function parseDate(value: unknown): Date | undefined {
  const date = new Date(typeof value === "string" ? value : Number.NaN);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

function parseState(data: unknown): PackedState | undefined {
  if (!isRecord(data)) return undefined;
  const home = parseFile("home", data["home"]);
  if (home === undefined) return undefined;
  if (data["work"] === undefined) return { home };
  const work = parseFile("work", data["work"]);
  const fillId = isRecord(data["work"]) ? data["work"]["fillId"] : undefined;
  return work === undefined || typeof fillId !== "string" ? undefined : { home, work: { ...work, fillId } };
}

/** Parses the facts about a file, which can lie nowhere but in the session's folder. */
function parseFile(volume: Volume, data: unknown): KeptFile | undefined {
  if (!isRecord(data)) return undefined;
  const { bytes, name, sha256 } = data;
  if (typeof name !== "string" || !NAMES[volume].test(name) || typeof sha256 !== "string") return undefined;
  return Number.isSafeInteger(bytes) ? { name, bytes: Number(bytes), sha256 } : undefined;
}

function unreadableError(path: string, cause: unknown): BudgieError {
  const { code } = cause as NodeJS.ErrnoException;
  return new BudgieError(
    "STATE_UNUSABLE",
    `The record "${path}" of a kept session cannot be read (${code}). Check budgie's state directory, and call again.`,
    { cause },
  );
}

/** Returns what to do about a full disk; any other error unchanged. */
export function toFull(cause: unknown, session: SessionId): unknown {
  const { code } = cause as NodeJS.ErrnoException;
  if (code !== "ENOSPC" && code !== "EDQUOT") return cause;
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The session "${session}" cannot be kept: the disk of budgie's state directory is full (${code}). Make room there, and call again.`,
    { cause },
  );
}
