import { BudgieError } from "@budgie/core";
import { parseOwnerRecord, type OwnerRecord } from "@budgie/core/owners";
import { beginApply, underWay, type ApplyJournal, type BegunApply } from "./begin-apply.ts";
import { addChangeObjects, listChangeObjects, removeChangeSets, setChangeObjects } from "./change-objects.ts";
import { inTransaction } from "./database/in-transaction.ts";
import { recordChange } from "./record/record-turn.ts";
import type { Database, Row } from "./database/sqlite.ts";
import { createStateDatabase } from "./database/state-database.ts";

/** `partly`: applied in part, and the rest may still be applied; `replaced`: a later set of its session has its changes too. */
export type ChangeState = "pending" | "partly" | "applied" | "discarded" | "undone" | "replaced";

/** A stored change set. Its content and outcome are of the package that stores them. */
export type ChangeRecord = {
  /** The change id */
  readonly id: string;
  readonly sessionId: string;
  readonly agent: string;
  readonly directory: string;
  /** Device and inode of the directory */
  readonly root: string;
  readonly createdMs: number;
  readonly state: ChangeState;
  /** The size of its stored contents */
  readonly bytes: number;
  /** The secret that only the last page of the changes tells */
  readonly token: string;
  readonly content: unknown;
  /** The results of its last apply or undo; `undefined` before the first */
  readonly outcome: unknown;
};

type SetSize = Pick<ChangeRecord, "bytes" | "createdMs" | "id" | "sessionId">;

/** A change set on its way into the archive. */
type NewChangeSet = Omit<ChangeRecord, "outcome" | "state"> &
  Needing & {
    /** True if the same changes were made again after they were applied */
    readonly isAgain?: boolean;
  };

/** SHA-256 in hex of the contents that a set needs from now on. */
type Needing = { readonly digests: readonly string[] };

/** The sets to list: of a session, or those for the directory of this device and inode that wait. */
export type ListedSets = { readonly sessionId: string } | { readonly openIn: string };

/** The change sets of a state directory. Each function throws a `BudgieError` if they cannot be read or written. */
export type ChangeArchive = {
  /**
   * Adds a set, and marks earlier pending sets of its session as replaced. A set with a known id becomes as young as a new one, and keeps its
   * state unless it was replaced, undone or made again.
   */
  readonly save: (record: NewChangeSet) => Promise<void>;
  /** Lists the sets of a session, those for a directory of which something may still be applied, or all, the newest first */
  readonly list: (of?: ListedSets) => Promise<readonly ChangeRecord[]>;
  /** Lists age and size of all sets, the newest first, without reading their content */
  readonly sizes: () => Promise<readonly SetSize[]>;
  /** Lists the contents that any set needs */
  readonly digests: () => Promise<readonly string[]>;
  /** Finds the set whose id begins with `id`; throws `INPUT_INVALID` if there is none or more than one */
  readonly find: (id: string) => Promise<ChangeRecord>;
  /** Changes a set's state, and what it needs; throws `INPUT_INVALID` for a set to discard while an apply of it is under way */
  readonly update: (id: string, state: ChangeState, digests?: readonly string[]) => Promise<void>;
  readonly remove: (ids: readonly string[]) => Promise<void>;
  /**
   * Records the plan of an apply before it writes; throws `INPUT_INVALID` if another one is under way in the directory, or the set's state is no
   * longer that of the plan
   */
  readonly begin: (journal: BegunApply) => Promise<void>;
  /** Records what the steps of an apply are in full, once they are staged */
  readonly plan: (root: string, plan: unknown) => Promise<void>;
  /** Takes over the apply of a dead owner; `false` if another budgie was quicker */
  readonly take: (journal: ApplyJournal, to: OwnerRecord) => Promise<boolean>;
  readonly journals: () => Promise<readonly ApplyJournal[]>;
  /** Records that everything of an apply is written */
  readonly commit: (root: string, done: Pick<ChangeRecord, "id" | "outcome" | "state"> & Needing) => Promise<void>;
  /** Removes an apply that was cleaned up or rolled back */
  readonly end: (root: string) => Promise<void>;
  readonly close: () => void;
};

/** Opens the change sets of a state directory. Creates no file before the first is saved. */
export function createChangeArchive({ stateDir }: { readonly stateDir: string }): ChangeArchive {
  const state = createStateDatabase(stateDir);

  async function use<T>(work: (database: Database) => T): Promise<T> {
    try {
      const database = await state.connect();
      // An apply must not begin before its journal is on the disk.
      database.exec("PRAGMA synchronous = FULL");
      return work(database);
    } catch (error) {
      throw state.toProblem(error);
    }
  }

  async function read<T>(work: (database: Database) => T, none: () => T): Promise<T> {
    return state.exists() ? use(work) : none();
  }

  return {
    save: (record) => use((database) => saveSet(database, record)),
    list: (of) =>
      read(
        (database) => listSets(database, of),
        () => [],
      ),
    sizes: () =>
      read(
        (database) => database.all(`SELECT id, session, created, bytes FROM change_sets ${NEWEST_FIRST}`).map(toSize),
        () => [],
      ),
    digests: () => read(listChangeObjects, () => []),
    find: (id) =>
      read(
        (database) => findSet(database, id),
        () => refuse(id),
      ),
    update: (id, to, digests) =>
      use((database) => {
        inTransaction(database, () => {
          const [busy] = database.all("SELECT directory FROM change_applies WHERE change_set = ?", id);
          if (busy !== undefined && to === "discarded") throw underWay(String(busy["directory"]));
          database.run("UPDATE change_sets SET state = ? WHERE id = ?", to, id);
          if (digests !== undefined) setChangeObjects(database, id, digests);
          recordChange(database, id);
        });
      }),
    remove: (ids) =>
      use((database) => {
        inTransaction(database, () => removeChangeSets(database, ids));
      }),
    begin: (journal) => use((database) => beginApply(database, journal)),
    plan: (root, plan) =>
      use((database) => database.run("UPDATE change_applies SET plan = ? WHERE root = ?", JSON.stringify(plan), root)),
    take: ({ owner, plan, root }, to) =>
      use((database) => {
        const taken = database.all(TAKE, JSON.stringify(to), root, JSON.stringify(plan), owner?.instance ?? "");
        return taken.length > 0;
      }),
    journals: () =>
      read(
        (database) => database.all("SELECT * FROM change_applies").map(toJournal),
        () => [],
      ),
    commit: (root, { digests, id, outcome, state: to }) =>
      use((database) => {
        inTransaction(database, () => {
          database.run("UPDATE change_applies SET phase = 'cleaning' WHERE root = ?", root);
          database.run("UPDATE change_sets SET state = ?, outcome = ? WHERE id = ?", to, JSON.stringify(outcome), id);
          setChangeObjects(database, id, digests);
          recordChange(database, id);
        });
      }),
    end: (root) => use((database) => database.run("DELETE FROM change_applies WHERE root = ?", root)),
    close: state.close,
  };
}

const TAKE = `UPDATE change_applies SET owner = ?
  WHERE root = ? AND plan = ? AND json_extract(owner, '$.instance') = ? RETURNING root`;

const NEWEST_FIRST = "ORDER BY created DESC, id";

function listSets(database: Database, of: ListedSets | undefined): readonly ChangeRecord[] {
  const all = (where: string, ...values: readonly string[]): readonly ChangeRecord[] =>
    database.all(`SELECT * FROM change_sets ${where} ${NEWEST_FIRST}`, ...values).map(toRecord);
  if (of === undefined) return all("");
  if ("sessionId" in of) return all("WHERE session = ?", of.sessionId);
  return all("WHERE root = ? AND state IN ('pending', 'partly')", of.openIn);
}

function toSize({ bytes, created, id, session }: Row): SetSize {
  return { id: String(id), sessionId: String(session), createdMs: Number(created), bytes: Number(bytes) };
}

function saveSet(database: Database, record: NewChangeSet): void {
  const { id, isAgain, sessionId } = record;
  inTransaction(database, () => {
    database.run(
      "UPDATE change_sets SET state = 'replaced' WHERE session = ? AND state IN ('pending', 'partly') AND id <> ?",
      sessionId,
      id,
    );
    database.run(
      `INSERT INTO change_sets (id, session, agent, directory, root, created, state, bytes, token, content)
        VALUES (?, ?, ?, ?, ?, ?, 'pending', ?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET created = excluded.created,
          state = CASE WHEN ? OR state IN ('replaced', 'undone') THEN 'pending' ELSE state END`,
      ...toValues(record),
      isAgain === true ? 1 : 0,
    );
    addChangeObjects(database, id, record.digests);
  });
}

function toValues(record: NewChangeSet): readonly (number | string)[] {
  const { agent, bytes, content, createdMs, directory, id, root, sessionId, token } = record;
  return [id, sessionId, agent, directory, root, createdMs, bytes, token, JSON.stringify(content)];
}

function findSet(database: Database, id: string): ChangeRecord {
  const rows = database.all("SELECT * FROM change_sets WHERE substr(id, 1, ?) = ? LIMIT 2", id.length, id);
  const [row = refuse(id), ...others] = id === "" ? [] : rows;
  if (others.length === 0) return toRecord(row);
  throw new BudgieError("INPUT_INVALID", `The ids of several change sets begin with "${id}". Give more of the id.`);
}

function refuse(id: string): never {
  throw new BudgieError(
    "INPUT_INVALID",
    `There is no change set ${JSON.stringify(id.slice(0, 64))}. "budgie changes ls" lists all that are there.`,
  );
}

function toRecord(row: Row): ChangeRecord {
  return {
    id: String(row["id"]),
    sessionId: String(row["session"]),
    agent: String(row["agent"]),
    directory: String(row["directory"]),
    root: String(row["root"]),
    createdMs: Number(row["created"]),
    state: String(row["state"]) as ChangeState,
    bytes: Number(row["bytes"]),
    token: String(row["token"]),
    content: JSON.parse(String(row["content"])),
    outcome: typeof row["outcome"] === "string" ? JSON.parse(row["outcome"]) : undefined,
  };
}

function toJournal(row: Row): ApplyJournal {
  return {
    root: String(row["root"]),
    directory: String(row["directory"]),
    changeId: String(row["change_set"]),
    phase: row["phase"] === "cleaning" ? "cleaning" : "writing",
    owner: parseOwnerRecord(JSON.parse(String(row["owner"]))),
    plan: JSON.parse(String(row["plan"])),
  };
}
