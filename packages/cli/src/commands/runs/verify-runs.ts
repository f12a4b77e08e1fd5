import { BudgieError } from "@budgie/core";
import { escapeForTerminal, formatCount } from "@budgie/core/text";
import type { Host } from "@budgie/mcp-server";
import type { RecordFault, RecordMark, RecordReport } from "@budgie/store";
import type { Config } from "../../config/config.ts";
import { stringifySafely } from "../../terminal/stringify-safely.ts";
import { wrapText } from "../../terminal/wrap-text.ts";
import { withRunArchive } from "./with-run-archive.ts";

export type VerifyRunsOptions = {
  /** A head that this command printed earlier */
  readonly noted?: string;
  readonly json: boolean;
};

/** Runs `budgie runs verify`: prints whether the run log is as it was recorded, or its first deviation, which is exit code 1. */
export async function verifyRuns(
  config: Pick<Config, "stateDir">,
  { json, noted }: VerifyRunsOptions,
  { columns, stdout }: Host,
): Promise<number> {
  const mark = noted === undefined ? undefined : parseMark(noted);
  const report = await withRunArchive(config, (archive) => archive.verify(mark));
  const lines = listLines(report, mark).map((line) => wrapText(line, { columns, indent: 0 }));
  // A head is copied as it is.
  const head = report.head === undefined ? [] : [`head: ${report.head.position}:${report.head.digest}`];
  stdout.write(json ? stringifySafely(report) : `${[...lines, ...head].join("\n")}\n`);
  return report.fault === undefined ? 0 : 1;
}

function parseMark(text: string): RecordMark {
  const [, position, digest] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (position !== undefined && digest !== undefined) return { position: Number(position), digest };
  throw new BudgieError(
    "CONFIG_INVALID",
    `Expected --noted to be a head that "budgie runs verify" printed, such as 12:5f0c…, got "${text}".`,
  );
}

function listLines(report: RecordReport, noted: RecordMark | undefined): readonly string[] {
  const { changes, fault, head, turns } = report;
  if (fault !== undefined) return [formatFault(fault), REMEDY];
  if (head === undefined) return ["There is no turn in the run log yet."];
  return [
    `${turns === 1 ? "1 turn is" : `${formatCount(turns)} turns are`} as recorded.`,
    ...(changes === 0 ? [] : [`${formatCount(changes)} applies, discards and undos of change sets are as recorded.`]),
    ...listUnverified(report),
    ...(noted === undefined ? [] : [formatNoted(report, noted)]),
  ];
}

const REMEDY =
  'Someone edited the run log, or its file is damaged or an old copy. To begin a new record, move the file away, or remove its turns by "budgie runs rm --all".';

function formatFault({ entry, kind, run }: RecordFault): string {
  const turn = run === undefined ? "" : ` (turn ${escapeForTerminal(run)})`;
  return entry === undefined
    ? `The record is broken${turn}: ${FAULTS[kind]}.`
    : `The record is broken at entry ${entry}${turn}: ${FAULTS[kind]}.`;
}

const FAULTS: Readonly<Record<RecordFault["kind"], string>> = {
  added: "the record does not have this turn; another program wrote it, or an older budgie",
  answer: "the answer was changed or removed",
  changed: "the turn, or the change set, was changed",
  "cut-off": "this entry and those after it are missing",
  ends: "the record does not end where its head says",
  entry: "the entry was changed",
  missing: "entries before it are missing",
  moved: "the entries are in another order",
  noted: "it is not the one that you noted",
  outcome: "the results of the change set's apply or undo were changed",
  removed: "the turn is missing, and budgie did not remove it",
  transcript: "the transcript was changed or removed",
};

/** Lists the turns that the record says nothing about. */
function listUnverified({ earlier, open, removed, withoutAnswer }: RecordReport): readonly string[] {
  const parts = [
    [removed, 'removed by the log\'s limits or "budgie runs rm"'],
    [earlier, "from before there was a record"],
    [open, "not ended, or lost"],
    [withoutAnswer, "without the answer, which the log's limits removed"],
  ] as const;
  const known = parts.filter(([count]) => count > 0).map(([count, text]) => `${formatCount(count)} ${text}`);
  return known.length === 0 ? [] : [`not verified: ${known.join("; ")}`];
}

function formatNoted({ noted }: RecordReport, { position }: RecordMark): string {
  if (noted === "found") return `Entry ${position} is the one that you noted.`;
  return `Entry ${position}, which you noted, was removed with its turn. Note the head again.`;
}
