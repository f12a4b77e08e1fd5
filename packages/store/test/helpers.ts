import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { onTestFinished } from "vitest";
import type { Run } from "@budgie/core";
import { createRunLog, type RunLogFile } from "@budgie/store";

/** A run with all that a run can have. */
export function makeRun(over: Partial<Run> = {}): Run {
  return {
    id: randomUUID(),
    agent: "tester",
    sessionId: randomUUID(),
    isolation: "container",
    startedMs: 1_700_000_000_000,
    endedMs: 1_700_000_001_000,
    outcome: "answered",
    exit: { exitCode: 0, signal: undefined },
    promptBytes: 12,
    answerBytes: 34,
    retried: false,
    error: undefined,
    egress: {
      allowed: [{ host: "api.example.com", port: 443, count: 2 }],
      denied: [{ host: "evil.test", port: 443, count: 1, why: "not on the allow-list" }],
    },
    ...over,
  };
}

/** A folder that is gone when the test is. */
export function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "budgie-store-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Asks for all runs of a test. */
export const ALL = { limit: 100, agent: undefined };

/** A log, and what it reported. */
export function open(stateDir: string): RunLogFile & { readonly reports: readonly string[] } {
  const reports: string[] = [];
  return { ...createRunLog({ stateDir, report: (line) => void reports.push(line) }), reports };
}

/** Changes a log behind its back. */
export function edit(stateDir: string, sql: string): void {
  const database = new Database(join(stateDir, "runs.sqlite3"));
  database.exec(sql);
  database.close();
}
