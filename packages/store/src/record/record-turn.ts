import { hash } from "node:crypto";
import type { Database, Row } from "../database/sqlite.ts";

/** The digest of an entry, or of the start of the record, with its position. */
export type RecordMark = { readonly position: number; readonly digest: string };

/** The two ends of the record, in a row of their own, so that entries cut off at either end are missed. */
export type RecordEnds = {
  /** The last entry before those that are kept */
  readonly start: RecordMark;
  /** The last entry of all */
  readonly head: RecordMark;
  /** The last turn that began before there was a record */
  readonly runsBefore: number;
};

/** Adds a turn that has ended to the record, in the transaction that writes its row. */
export function recordTurn(database: Database, id: string): void {
  const ends = readEnds(database);
  // Verification names the missing end, and later turns as added.
  if (ends === undefined) return;
  const position = findNext(database, ends);
  const [answer, transcript] = [hashText(database, "answers", id), hashText(database, "transcripts", id)];
  database.run(
    "UPDATE runs SET entry = ?, answer_digest = ?, transcript_digest = ? WHERE id = ?",
    position,
    answer,
    transcript,
    id,
  );
  const [row = {}] = database.all("SELECT * FROM runs WHERE id = ?", id);
  addEntry(database, { position, kind: "turn", run: id, content: hashTurn(row), previous: ends.head.digest });
}

/** Returns the digest of a text of a turn. SQLite may return another text than it was given, as for half a surrogate pair. */
function hashText(database: Database, table: "answers" | "transcripts", id: string): string | null {
  const [row] = database.all(`SELECT text FROM ${table} JOIN runs ON run = number WHERE id = ?`, id);
  return row === undefined ? null : sha256(String(row["text"]));
}

// The states of a change set whose cause is recorded.
const CHANGE_KINDS: Readonly<Record<string, string>> = {
  partly: "apply",
  applied: "apply",
  undone: "undo",
  discarded: "discard",
};

/** Adds the apply, discard or undo that led to the state of a change set, in the transaction that writes it. */
export function recordChange(database: Database, id: string): void {
  const ends = readEnds(database);
  const [row] = database.all("SELECT * FROM change_sets WHERE id = ?", id);
  const kind = CHANGE_KINDS[String(row?.["state"])];
  if (ends === undefined || row === undefined || kind === undefined) return;
  const { agent, content, directory, session, state } = row;
  const outcome = typeof row["outcome"] === "string" ? sha256(row["outcome"]) : null;
  const digests = { content: sha256(String(content)), outcome };
  const facts = { change: id, session, agent, directory, state, at: Date.now(), ...digests };
  const detail = JSON.stringify(facts);
  const position = findNext(database, ends);
  addEntry(database, { position, kind, detail, content: sha256(detail), previous: ends.head.digest });
}

/** Returns the ends of the record; `undefined` if their row is missing. */
export function readEnds(database: Database): RecordEnds | undefined {
  const [row] = database.all("SELECT * FROM record_ends");
  if (row === undefined) return undefined;
  return {
    start: { position: Number(row["start_position"]), digest: String(row["start_digest"]) },
    head: { position: Number(row["head_position"]), digest: String(row["head_digest"]) },
    runsBefore: Number(row["runs_before"]),
  };
}

/** Returns the next free position, also if someone moved the head. */
function findNext(database: Database, { head }: RecordEnds): number {
  const [row] = database.all("SELECT max(position) AS last FROM record");
  return Math.max(head.position, Number(row?.["last"] ?? 0)) + 1;
}

type NewEntry = Readonly<Record<"kind" | "content" | "previous", string>> & {
  readonly position: number;
  /** The turn, whose row has the facts */
  readonly run?: string;
  /** The facts of an entry that is no turn, as JSON */
  readonly detail?: string;
};

function addEntry(database: Database, { content, detail, kind, position, previous, run }: NewEntry): void {
  const digest = hashEntry({ kind, content, previous });
  database.run(
    "INSERT INTO record (position, kind, run, detail, content, previous, digest) VALUES (?, ?, ?, ?, ?, ?, ?)",
    position,
    kind,
    run ?? null,
    detail ?? null,
    content,
    previous,
    digest,
  );
  database.run("UPDATE record_ends SET head_position = ?, head_digest = ?", position, digest);
}

/** Returns the digest of an entry from its kind, the digest of its content and that of the entry before. */
export function hashEntry({
  content,
  kind,
  previous,
}: Readonly<Record<"kind" | "content" | "previous", string>>): string {
  return sha256(JSON.stringify([previous, kind, content]));
}

/** Returns the digest of a turn's row. Columns that later budgies add are empty, and change nothing. */
export function hashTurn(row: Row): string {
  const facts = Object.entries(row).filter(([column, value]) => value !== null && column !== "delivered");
  return sha256(JSON.stringify(facts.toSorted(([a], [b]) => (a < b ? -1 : 1))));
}

/** Returns the SHA-256 of a text in UTF-8, in hexadecimal digits. */
export function sha256(text: string): string {
  return hash("sha256", text);
}
