import type { EgressReport } from "@budgie/core";
import type { Isolation, OwnerRecord } from "@budgie/core/owners";
import type { BegunRun, FinishedRun, Run } from "@budgie/core/runs";
import { parseUsage, toUsageRow } from "./parse-usage.ts";
import type { Row } from "../database/sqlite.ts";

/** Creates the row of a turn that begins. */
export function toBegunRow(run: BegunRun, owner: OwnerRecord): Row {
  return {
    id: run.id,
    agent: run.agent,
    session: run.sessionId ?? null,
    isolation: run.isolation,
    owner: JSON.stringify(owner),
    started: run.startedMs,
    prompt_bytes: run.promptBytes,
    directory: orNull(run.directory),
    client: orNull(run.client),
    retried: 0,
    delivered: 0,
  };
}

/** Creates the columns that are added when the turn has ended. */
export function toFinishedRow(run: FinishedRun): Row {
  return {
    session: orNull(run.sessionId),
    ended: run.endedMs,
    outcome: run.outcome,
    exit_code: orNull(run.exit?.exitCode),
    exit_signal: orNull(run.exit?.signal),
    timed_out: run.timedOut ? 1 : 0,
    answer_bytes: run.answer === undefined ? null : Buffer.byteLength(run.answer),
    retried: run.retried ? 1 : 0,
    error: orNull(run.error),
    egress: run.egress === undefined ? null : JSON.stringify(run.egress),
    ...toUsageRow(run.usage),
    mcp: run.mcpCalls === undefined ? null : JSON.stringify(run.mcpCalls),
    others: run.others === undefined ? null : JSON.stringify(run.others),
    facts: run.facts === undefined ? null : JSON.stringify(run.facts),
  };
}

/** Parses a row. `open` is the outcome of a run that has not ended, which depends on its owner. */
export function parseRun(row: Row, open: "lost" | "running"): Run {
  const [exitCode, signal] = [toNumber(row["exit_code"]), toText(row["exit_signal"])];
  const [egress, outcome] = [toText(row["egress"]), toText(row["outcome"])];
  return {
    id: String(row["id"]),
    agent: String(row["agent"]),
    sessionId: toText(row["session"]),
    isolation: String(row["isolation"]) as Isolation,
    startedMs: Number(row["started"]),
    endedMs: toNumber(row["ended"]),
    outcome: outcome === undefined ? open : (outcome as FinishedRun["outcome"]),
    exit: exitCode === undefined && signal === undefined ? undefined : { exitCode, signal },
    promptBytes: Number(row["prompt_bytes"]),
    timedOut: row["timed_out"] === 1,
    answerBytes: toNumber(row["answer_bytes"]),
    retried: row["retried"] === 1,
    error: outcome === undefined && open === "lost" ? LOST : toText(row["error"]),
    egress: egress === undefined ? undefined : (JSON.parse(egress) as EgressReport),
    usage: parseUsage(row),
    ...parseAdded(row),
    delivered: row["delivered"] === 1,
  };
}

/** Parses the columns that rows of older budgies lack. */
function parseAdded(row: Row): Pick<Run, "client" | "directory" | "facts" | "mcpCalls" | "others"> {
  const [client, directory] = [toText(row["client"]), toText(row["directory"])];
  const json = { mcpCalls: row["mcp"], others: row["others"], facts: row["facts"] };
  const known = Object.entries(json).flatMap(([name, value]) => {
    const text = toText(value);
    return text === undefined ? [] : [[name, JSON.parse(text) as unknown]];
  });
  const texts = { ...(client === undefined ? {} : { client }), ...(directory === undefined ? {} : { directory }) };
  return { ...texts, ...(Object.fromEntries(known) as object) };
}

const LOST = "The budgie that ran it ended before the turn did.";

function orNull<T>(value: T | undefined): T | null {
  return value ?? null;
}

function toText(value: Row[string] | undefined): string | undefined {
  return value === null || value === undefined ? undefined : String(value);
}

function toNumber(value: Row[string] | undefined): number | undefined {
  return value === null || value === undefined ? undefined : Number(value);
}
