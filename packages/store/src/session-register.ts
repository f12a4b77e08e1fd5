import { BudgieError, type SessionId } from "@budgie/core";
import { parseOwnerRecord, type Isolation, type OwnerRecord } from "@budgie/core/owners";
import type { RegisterEntry, SessionRegister } from "@budgie/core/sessions";
import type { Row } from "./database/sqlite.ts";
import { createStateDatabase } from "./database/state-database.ts";

/** A register in a file that several processes write and read. */
export type RegisterFile = SessionRegister & {
  /** Throws `STATE_UNUSABLE` if sessions cannot be recorded; creates nothing. */
  readonly check: () => Promise<void>;
  readonly close: () => void;
};

export type RegisterOptions = {
  readonly stateDir: string;
  /** Called once with the reason why sessions are not recorded */
  readonly report: (line: string) => void;
};

/** Creates the register. Nothing is opened or loaded before the first session. */
export function createSessionRegister({ report, stateDir }: RegisterOptions): RegisterFile {
  const state = createStateDatabase(stateDir);
  let hasReported = false;

  /** Writes to the database. Reports a failure instead of throwing, because a turn must not fail over its register entry. */
  async function write(sql: string, ...values: readonly (string | number | null)[]): Promise<void> {
    try {
      (await state.connect()).run(sql, ...values);
    } catch (error) {
      if (!hasReported) report(`Sessions are not recorded: ${state.toProblem(error).message}`);
      hasReported = true;
    }
  }

  async function read(sql: string, ...values: readonly string[]): Promise<readonly Row[]> {
    if (!state.exists()) return [];
    try {
      return (await state.connect()).all(sql, ...values);
    } catch (error) {
      throw state.toProblem(error);
    }
  }

  return {
    async save(session) {
      const {
        agent,
        begun,
        createdMs,
        directory,
        id,
        isolation,
        keepMs,
        origin,
        owner,
        totals,
        usedMs,
        workspacePath,
      } = session;
      const facts = [id, agent, directory, isolation, begun ? 1 : 0, createdMs, usedMs, keepMs ?? null, origin ?? null];
      const counted = totals === undefined ? null : JSON.stringify(totals);
      await write(SAVE, ...facts, workspacePath ?? null, counted, owner.instance, JSON.stringify(owner));
    },
    async find(id) {
      const [row] = await read("SELECT * FROM sessions WHERE id = ?", id);
      return parseSessions(row === undefined ? [] : [row])[0];
    },
    list: async () => parseSessions(await read("SELECT * FROM sessions ORDER BY used DESC, id")),
    async pass(id, fromInstance, to) {
      const passed = await read(PASS, to.instance, JSON.stringify(to), id, fromInstance);
      return passed.length > 0;
    },
    remove: (id) => (state.exists() ? write("DELETE FROM sessions WHERE id = ?", id) : Promise.resolve()),
    async check() {
      try {
        await state.check();
      } catch (error) {
        const { message } = state.toProblem(error);
        throw new BudgieError("STATE_UNUSABLE", `Sessions cannot be kept: ${message}`, { cause: error });
      }
    },
    close: state.close,
  };
}

// An owner that lost a session to another, such as during a long sleep of the machine, must not take it back.
const SAVE = `
  INSERT INTO sessions (id, agent, directory, isolation, begun, created, used, keep_ms, origin, workspace_path, totals, instance, owner)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET begun = excluded.begun, used = excluded.used, keep_ms = excluded.keep_ms,
    totals = excluded.totals, origin = COALESCE(excluded.origin, origin)
  WHERE instance = excluded.instance`;

const PASS = "UPDATE sessions SET instance = ?, owner = ? WHERE id = ? AND instance = ? RETURNING id";

/** Parses rows, and ignores malformed ones. The labels of their containers and folders then name the owner. */
function parseSessions(rows: readonly Row[]): readonly RegisterEntry[] {
  return rows.flatMap((row) => {
    const owner = parseOwnerRecord(parseJson(String(row["owner"])));
    return owner === undefined ? [] : [parseSession(row, owner)];
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function parseSession(row: Row, owner: OwnerRecord): RegisterEntry {
  return {
    id: String(row["id"]) as SessionId,
    agent: String(row["agent"]),
    directory: String(row["directory"]),
    isolation: String(row["isolation"]) as Isolation,
    begun: row["begun"] === 1,
    createdMs: Number(row["created"]),
    usedMs: Number(row["used"]),
    keepMs: row["keep_ms"] === null ? undefined : Number(row["keep_ms"]),
    origin: row["origin"] === "run" ? "run" : undefined,
    workspacePath: row["workspace_path"] === "same" ? "same" : undefined,
    // budgie wrote it.
    totals: row["totals"] === null ? undefined : (parseJson(String(row["totals"])) as RegisterEntry["totals"]),
    owner,
  };
}
