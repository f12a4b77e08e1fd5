import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, isAbsolute, join, normalize } from "node:path";
import { BudgieError, isSessionId, type SessionId } from "@budgie/core";
import { parseOwnerRecord, type OwnerRecord } from "@budgie/core/owners";

/** The persistent table of sessions' homes and owners, kept outside the homes, where agents cannot forge it. */
export type HomeRegister = {
  /** Reads a session's entry; `undefined` if it is missing or invalid */
  find(id: SessionId): Promise<RegisterEntry | undefined>;
  /** Reads all entries, and lists the files with invalid ones */
  list(): Promise<{ readonly entries: readonly RegisterEntry[]; readonly corrupt: readonly CorruptEntry[] }>;
  write(entry: RegisterEntry): Promise<void>;
  remove(id: SessionId): Promise<void>;
};

export type RegisterEntry = {
  readonly id: SessionId;
  readonly home: string;
  readonly owner: OwnerRecord;
  readonly created: Date;
  /** Time after its last use during which it outlives its owner; `undefined` if it does not */
  readonly keepMs?: number | undefined;
};

type CorruptEntry = { readonly path: string; readonly session: string; readonly why: string };

const SUFFIX = ".json";

/** Creates the register: one file for each session, below the state directory. */
export function createSessionRegister(stateDir: string): HomeRegister {
  const folder = join(stateDir, "local-sessions");
  const pathOf = (id: string) => join(folder, `${id}${SUFFIX}`);
  const draftOf = (id: string) => join(folder, `${id}.draft`);

  return {
    async find(id) {
      const entry = await readEntry(pathOf(id), id);
      return typeof entry === "string" ? undefined : entry;
    },
    async list() {
      const ids = (await listNames(folder)).flatMap((name) => (name.endsWith(SUFFIX) ? [basename(name, SUFFIX)] : []));
      const read = await Promise.all(ids.map(async (id) => ({ id, entry: await readEntry(pathOf(id), id) })));
      return {
        entries: read.flatMap(({ entry }) => (typeof entry === "object" ? [entry] : [])),
        corrupt: read.flatMap(({ id, entry }) =>
          typeof entry === "string" ? [{ path: pathOf(id), session: id, why: entry }] : [],
        ),
      };
    },
    async write({ id, home, owner, created, keepMs }) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      // Atomically: another budgie may read the register at any time.
      const draft = draftOf(id);
      const entry = JSON.stringify({ home, owner, created: created.toISOString(), keepMs });
      await writeFile(draft, entry, { mode: 0o600 }).catch((error: unknown) => {
        throw toFull(error, folder);
      });
      await rename(draft, pathOf(id));
    },
    async remove(id) {
      // A killed write leaves its draft behind.
      await rm(draftOf(id), { force: true });
      await rm(pathOf(id), { force: true });
    },
  };
}

/** Returns what to do about a full disk; any other error unchanged. */
function toFull(cause: unknown, folder: string): unknown {
  const { code } = cause as NodeJS.ErrnoException;
  if (code !== "ENOSPC" && code !== "EDQUOT") return cause;
  const message = `No session can be opened: the disk of "${folder}" is full (${code}). Make room there, and call again.`;
  return new BudgieError("RUNNER_UNAVAILABLE", message, { cause });
}

async function listNames(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** Reads an entry. Returns the reason if it is invalid, and `undefined` if it is missing. */
async function readEntry(path: string, id: string): Promise<RegisterEntry | string | undefined> {
  try {
    const text = await readFile(path, "utf8");
    return parseEntry(id, JSON.parse(text));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    return `the register entry cannot be read (${(error as Error).message})`;
  }
}

function parseEntry(id: string, data: unknown): RegisterEntry | string {
  const { home, owner: record, created, keepMs } = toFields(data, ["home", "owner", "created", "keepMs"]);
  const owner = parseOwnerRecord(record);
  const date = new Date(typeof created === "string" ? created : Number.NaN);
  if (!isSessionId(id)) return "the register entry is not named after a session";
  if (!isHomeOf(id, home)) return "the recorded home is not a folder named after the session";
  if (owner === undefined) return "no owner is recorded";
  if (Number.isNaN(date.getTime())) return "no date is recorded";
  return { id, home, owner, created: date, keepMs: typeof keepMs === "number" ? keepMs : undefined };
}

/** Returns true if a path is a valid home. Its whole tree will be removed, so it must be a folder named after the session. */
function isHomeOf(id: SessionId, home: unknown): home is string {
  return typeof home === "string" && isAbsolute(home) && normalize(home) === home && basename(home) === id;
}

function toFields<Name extends string>(data: unknown, names: readonly Name[]): Record<Name, unknown> {
  const record = Object(data) as Record<string, unknown>;
  return Object.fromEntries(names.map((name) => [name, record[name]])) as Record<Name, unknown>;
}
