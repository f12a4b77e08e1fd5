import { hashEntry, hashTurn, readEnds, sha256, type RecordEnds, type RecordMark } from "./record-turn.ts";
import type { Database, Row } from "../database/sqlite.ts";

/** The first deviation of the run log from its record. */
export type RecordFault = {
  readonly kind:
    | "added" // A turn that the record does not have
    | "answer" // An answer was changed or removed
    | "changed" // A turn is not as it was recorded
    | "cut-off" // The last entries are missing
    | "ends" // The row of the two ends was removed or changed
    | "entry" // An entry of the record was changed
    | "missing" // Entries are missing before this one
    | "moved" // Entries are in another order
    | "noted" // Another digest than the one that was noted
    | "outcome" // The results of an apply or undo were changed
    | "removed" // A turn was removed, and not by budgie
    | "transcript"; // A transcript was changed or removed
  /** The entry's position; left out for a turn without an entry */
  readonly entry?: number;
  /** The turn's id */
  readonly run?: string | undefined;
};

/** The result of the verification of a record. */
export type RecordReport = {
  /** Left out if there is no record */
  readonly head?: RecordMark;
  /** The entries whose turns were compared */
  readonly turns: number;
  /** The applies, discards and undos of change sets */
  readonly changes: number;
  /** The entries whose turns budgie removed, by its limits or by command */
  readonly removed: number;
  /** The turns whose answers budgie removed */
  readonly withoutAnswer: number;
  /** The turns from before there was a record, which nothing protects */
  readonly earlier: number;
  /** The turns that run, or never ended */
  readonly open: number;
  /** `removed`: the noted entry was removed, so that its digest says nothing any more */
  readonly noted?: "found" | "removed";
  /** Left out if there is none */
  readonly fault?: RecordFault | undefined;
};

/** The report of a record without entries. */
export const NO_RECORD: RecordReport = { turns: 0, changes: 0, removed: 0, withoutAnswer: 0, earlier: 0, open: 0 };

/** Compares turns with their record. `noted` is an earlier head. Reads one state of the file, while others write, in parts. */
export function verifyRecord(database: Database, noted?: RecordMark): RecordReport {
  database.exec("BEGIN");
  try {
    const ends = readEnds(database);
    if (ends === undefined) return { ...NO_RECORD, fault: { kind: "ends" } };
    const walk = walkRecord(database, ends, noted);
    const fault = walk.fault ?? findCutOff(walk.last, ends) ?? findAdded(database, ends) ?? findOther(database);
    return {
      head: ends.head,
      turns: walk.turns,
      changes: walk.changes,
      removed: ends.start.position + walk.removed,
      withoutAnswer: walk.withoutAnswer,
      ...countUnrecorded(database, ends),
      ...judgeNoted(noted, ends, fault),
    };
  } finally {
    database.exec("COMMIT");
  }
}

type Walk = Pick<RecordReport, "changes" | "fault" | "removed" | "turns" | "withoutAnswer"> & {
  readonly last: RecordMark;
};

const ROWS_AT_ONCE = 500;

/** Follows the chain to its end or its first fault. */
function walkRecord(database: Database, { start }: RecordEnds, noted: RecordMark | undefined): Walk {
  const counts = { changes: 0, removed: 0, turns: 0, withoutAnswer: 0 };
  let last = start;
  for (let rows = readRows(database, FIRST); rows.length > 0; rows = readRows(database, last.position)) {
    for (const row of rows) {
      const fault = findFault(database, row, last) ?? judgeMark(noted, toMark(row));
      if (fault !== undefined) return { ...counts, last, fault };
      counts[judgeKind(row)] += 1;
      if (row["answer_digest"] !== null && row["record_answer"] === null) counts.withoutAnswer += 1;
      last = toMark(row);
    }
  }
  return { ...counts, last };
}

function judgeKind(row: Row): "changes" | "removed" | "turns" {
  if (row["record_kind"] !== "turn") return "changes";
  return row["id"] === null ? "removed" : "turns";
}

// Someone may have moved an entry below the start.
const FIRST = Number.MIN_SAFE_INTEGER;

function readRows(database: Database, after: number): readonly Row[] {
  return database.all(
    `SELECT runs.*, answers.run AS record_answer, iif(answer_bytes <= ${SHORT_BYTES}, text, NULL) AS record_text, ${OWN.map((name) => `record.${name} AS record_${name}`).join(", ")}
      FROM record LEFT JOIN runs ON id = record.run LEFT JOIN answers ON answers.run = number
      WHERE position > ? ORDER BY position LIMIT ${ROWS_AT_ONCE}`,
    after,
  );
}

// Longer answers are read one at a time.
const SHORT_BYTES = 16 * 1024;

const OWN = ["position", "kind", "run", "detail", "content", "previous", "digest"];

function toMark(row: Row): RecordMark {
  return { position: Number(row["record_position"]), digest: String(row["record_digest"]) };
}

function findFault(database: Database, row: Row, last: RecordMark): RecordFault | undefined {
  const [content, kind, previous] = ["content", "kind", "previous"].map((name) => String(row[`record_${name}`]));
  const { digest, position } = toMark(row);
  const at = { entry: position, run: row["record_run"] === null ? undefined : String(row["record_run"]) };
  if (hashEntry({ content: content ?? "", kind: kind ?? "", previous: previous ?? "" }) !== digest)
    return { kind: "entry", ...at };
  if (previous !== last.digest || position !== last.position + 1) return { kind: findBreak(database, last), ...at };
  return findContentFault(database, row, at);
}

function findContentFault(
  database: Database,
  row: Row,
  at: Pick<RecordFault, "entry" | "run">,
): RecordFault | undefined {
  if (row["record_kind"] !== "turn" || row["record_detail"] !== null) return findChangeFault(database, row, at);
  return at.run === undefined ? undefined : findTurnFault(database, row, at);
}

/** Returns `moved` if the entry that belongs after the last one is elsewhere. */
function findBreak(database: Database, { digest }: RecordMark): "missing" | "moved" {
  const found = database.all("SELECT position FROM record WHERE previous = ? LIMIT 1", digest);
  return found.length > 0 ? "moved" : "missing";
}

function findTurnFault(database: Database, row: Row, at: Pick<RecordFault, "entry" | "run">): RecordFault | undefined {
  if (row["id"] === null) return { kind: "removed", ...at };
  const turn = Object.fromEntries(Object.entries(row).filter(([column]) => !column.startsWith("record_")));
  if (hashTurn(turn) !== row["record_content"]) return { kind: "changed", ...at };
  if (row["record_answer"] !== null) {
    const text = row["record_text"] ?? readText(database, "answers", row);
    if (sha256(String(text)) !== row["answer_digest"]) return { kind: "answer", ...at };
  }
  const transcript = row["transcript_digest"] === null ? undefined : readText(database, "transcripts", row);
  if (transcript === undefined) return undefined;
  return sha256(String(transcript)) === row["transcript_digest"] ? undefined : { kind: "transcript", ...at };
}

function readText(
  database: Database,
  table: "answers" | "transcripts",
  { number = null }: Row,
): Row[string] | undefined {
  return database.all(`SELECT text FROM ${table} WHERE run = ?`, number)[0]?.["text"];
}

/** Compares the facts of a change set's apply, discard or undo, and the set while it is kept. */
function findChangeFault(
  database: Database,
  { record_content, record_detail: detail = null }: Row,
  at: Pick<RecordFault, "entry" | "run">,
): RecordFault | undefined {
  if (at.run !== undefined || sha256(String(detail)) !== record_content) return { kind: "entry", ...at };
  const [set] = database.all(
    "SELECT content, ? ->> 'content' AS digest FROM change_sets WHERE id = ? ->> 'change'",
    detail,
    detail,
  );
  return set === undefined || sha256(String(set["content"])) === set["digest"] ? undefined : { kind: "changed", ...at };
}

function findCutOff(last: RecordMark, { head }: RecordEnds): RecordFault | undefined {
  if (last.position < head.position) return { kind: "cut-off", entry: last.position + 1 };
  return last.position === head.position && last.digest === head.digest
    ? undefined
    : { kind: "ends", entry: last.position };
}

/** Finds a turn that the record does not have, or no longer. */
function findAdded(database: Database, { runsBefore }: RecordEnds): RecordFault | undefined {
  const [row] = database.all(
    `SELECT id, entry FROM runs LEFT JOIN record ON position = entry AND run = id
      WHERE position IS NULL AND (entry IS NOT NULL OR (ended IS NOT NULL AND number > ?)) ORDER BY number LIMIT 1`,
    runsBefore,
  );
  return row === undefined ? undefined : { kind: "added", run: String(row["id"]) };
}

/** Finds what no entry alone tells. */
function findOther(database: Database): RecordFault | undefined {
  return findRemovedText(database, "answer") ?? findRemovedText(database, "transcript") ?? findChangedOutcome(database);
}

/** Finds a change set whose results are not those of its last entry. Entries of older budgies have none. */
function findChangedOutcome(database: Database): RecordFault | undefined {
  const rows = database.all(
    `SELECT * FROM (SELECT max(position) AS entry, outcome, detail FROM record JOIN change_sets ON id = detail ->> 'change'
      WHERE kind <> 'turn' GROUP BY id) WHERE json_type(detail, '$.outcome') IS NOT NULL ORDER BY entry`,
  );
  const changed = rows.find(({ detail, outcome }) => {
    const digest = typeof outcome === "string" ? sha256(outcome) : null;
    return !String(detail).includes(`"outcome":${JSON.stringify(digest)}`);
  });
  return changed === undefined ? undefined : { kind: "outcome", entry: Number(changed["entry"]) };
}

/**
 * Finds a text that is missing although one is there of a turn that began and ended earlier: budgie removes the oldest. A turn that ended
 * later may have added its own after that.
 */
function findRemovedText(database: Database, kind: "answer" | "transcript"): RecordFault | undefined {
  const [row] = database.all(
    `SELECT id, entry FROM (SELECT id, number, entry, ${kind}_digest AS digest, run, min(iif(run IS NULL, NULL, coalesce(entry, 0)))
        OVER (ORDER BY number ROWS UNBOUNDED PRECEDING) AS oldest FROM runs LEFT JOIN ${kind}s ON run = number)
      WHERE digest IS NOT NULL AND run IS NULL AND oldest < entry ORDER BY number LIMIT 1`,
  );
  return row === undefined ? undefined : { kind, entry: Number(row["entry"]), run: String(row["id"]) };
}

function countUnrecorded(database: Database, { runsBefore }: RecordEnds): Pick<RecordReport, "earlier" | "open"> {
  const [row] = database.all(
    `SELECT count(*) FILTER (WHERE ended IS NULL) AS open,
      count(*) FILTER (WHERE ended IS NOT NULL AND entry IS NULL AND number <= ?) AS earlier FROM runs`,
    runsBefore,
  );
  return { earlier: Number(row?.["earlier"]), open: Number(row?.["open"]) };
}

function judgeMark(noted: RecordMark | undefined, { digest, position }: RecordMark): RecordFault | undefined {
  return noted?.position === position && noted.digest !== digest ? { kind: "noted", entry: position } : undefined;
}

/** Judges an earlier head, which may have been removed, or be in the future of a record that was put back. */
function judgeNoted(
  noted: RecordMark | undefined,
  { head, start }: RecordEnds,
  found: RecordFault | undefined,
): Pick<RecordReport, "fault" | "noted"> {
  if (found !== undefined || noted === undefined) return found === undefined ? {} : { fault: found };
  if (noted.position < start.position) return { noted: "removed" };
  if (noted.position > head.position) return { fault: { kind: "cut-off", entry: head.position + 1 } };
  const fault = judgeMark(noted, start);
  return fault === undefined ? { noted: "found" } : { fault };
}
