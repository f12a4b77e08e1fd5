import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, isAbsolute, join, normalize } from "node:path";
import { isSessionId, parseOwnerRecord, type OwnerRecord, type SessionId } from "@budgie/core";

/** Who owns which session's home; kept outside the homes, so that an agent's own files say nothing about ownership. */
export type SessionLedger = {
  /** Reads one session's entry; `undefined` when there is none, or it cannot be believed */
  find(id: SessionId): Promise<LedgerEntry | undefined>;
  /** Reads all entries, and names the files that cannot be believed */
  list(): Promise<{ readonly entries: readonly LedgerEntry[]; readonly corrupt: readonly CorruptEntry[] }>;
  write(entry: LedgerEntry): Promise<void>;
  remove(id: SessionId): Promise<void>;
};

export type LedgerEntry = {
  readonly id: SessionId;
  readonly home: string;
  readonly owner: OwnerRecord;
  readonly created: Date;
  /** How long it outlives its owner after its last use; `undefined` if it does not */
  readonly keepMs?: number | undefined;
};

type CorruptEntry = { readonly path: string; readonly session: string; readonly why: string };

const SUFFIX = ".json";

/** Keeps the ledger as one file a session below the state directory. */
export function createSessionLedger(stateDir: string): SessionLedger {
  const folder = join(stateDir, "local-sessions");
  const toPath = (id: string) => join(folder, `${id}${SUFFIX}`);
  const toDraft = (id: string) => join(folder, `${id}.draft`);

  return {
    async find(id) {
      const entry = await readEntry(toPath(id), id);
      return typeof entry === "string" ? undefined : entry;
    },
    async list() {
      const ids = (await listNames(folder)).flatMap((name) => (name.endsWith(SUFFIX) ? [basename(name, SUFFIX)] : []));
      const read = await Promise.all(ids.map(async (id) => ({ id, entry: await readEntry(toPath(id), id) })));
      return {
        entries: read.flatMap(({ entry }) => (typeof entry === "object" ? [entry] : [])),
        corrupt: read.flatMap(({ id, entry }) =>
          typeof entry === "string" ? [{ path: toPath(id), session: id, why: entry }] : [],
        ),
      };
    },
    async write({ id, home, owner, created, keepMs }) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      // Whole or not at all: another budgie may read the ledger at any time.
      const draft = toDraft(id);
      await writeFile(draft, JSON.stringify({ home, owner, created: created.toISOString(), keepMs }), { mode: 0o600 });
      await rename(draft, toPath(id));
    },
    async remove(id) {
      // Of a write that a kill ended.
      await rm(toDraft(id), { force: true });
      await rm(toPath(id), { force: true });
    },
  };
}

async function listNames(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** Answers with the entry, why it cannot be believed, or `undefined` when it is not there. */
async function readEntry(path: string, id: string): Promise<LedgerEntry | string | undefined> {
  try {
    const text = await readFile(path, "utf8");
    return toEntry(id, JSON.parse(text));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    return `the ledger entry cannot be read (${(error as Error).message})`;
  }
}

function toEntry(id: string, data: unknown): LedgerEntry | string {
  const { home, owner: record, created, keepMs } = toFields(data, ["home", "owner", "created", "keepMs"]);
  const owner = parseOwnerRecord(record);
  const date = new Date(typeof created === "string" ? created : Number.NaN);
  if (!isSessionId(id)) return "the ledger entry is not named after a session";
  if (!isHomeOf(id, home)) return "the recorded home is not a folder named after the session";
  if (owner === undefined) return "no owner is recorded";
  if (Number.isNaN(date.getTime())) return "no date is recorded";
  return { id, home, owner, created: date, keepMs: typeof keepMs === "number" ? keepMs : undefined };
}

/** The home is going to be removed with all in it: nothing but a folder named after the session will do. */
function isHomeOf(id: SessionId, home: unknown): home is string {
  return typeof home === "string" && isAbsolute(home) && normalize(home) === home && basename(home) === id;
}

function toFields<Name extends string>(data: unknown, names: readonly Name[]): Record<Name, unknown> {
  const record = Object(data) as Record<string, unknown>;
  return Object.fromEntries(names.map((name) => [name, record[name]])) as Record<Name, unknown>;
}
