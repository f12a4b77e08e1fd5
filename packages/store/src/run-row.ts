import type { EgressReport, Isolation, Run } from "@budgie/core";
import type { Row } from "./sqlite.ts";

/** The row of the table `runs` that keeps this run. */
export function toRow(run: Run): Row {
  return {
    id: run.id,
    agent: run.agent,
    session: run.sessionId ?? null,
    isolation: run.isolation,
    started: run.startedMs,
    ended: run.endedMs,
    outcome: run.outcome,
    exit_code: run.exit?.exitCode ?? null,
    exit_signal: run.exit?.signal ?? null,
    prompt_bytes: run.promptBytes,
    answer_bytes: run.answerBytes ?? null,
    retried: run.retried ? 1 : 0,
    error: run.error ?? null,
    egress: run.egress === undefined ? null : JSON.stringify(run.egress),
  };
}

/** The run that {@link toRow} made this row of. */
export function toRun(row: Row): Run {
  const [exitCode, signal] = [toNumber(row["exit_code"]), toText(row["exit_signal"])];
  const egress = toText(row["egress"]);
  return {
    id: String(row["id"]),
    agent: String(row["agent"]),
    sessionId: toText(row["session"]),
    isolation: String(row["isolation"]) as Isolation,
    startedMs: Number(row["started"]),
    endedMs: Number(row["ended"]),
    outcome: String(row["outcome"]) as Run["outcome"],
    exit: exitCode === undefined && signal === undefined ? undefined : { exitCode, signal },
    promptBytes: Number(row["prompt_bytes"]),
    answerBytes: toNumber(row["answer_bytes"]),
    retried: row["retried"] === 1,
    error: toText(row["error"]),
    egress: egress === undefined ? undefined : (JSON.parse(egress) as EgressReport),
  };
}

function toText(value: Row[string] | undefined): string | undefined {
  return value === null || value === undefined ? undefined : String(value);
}

function toNumber(value: Row[string] | undefined): number | undefined {
  return value === null || value === undefined ? undefined : Number(value);
}
