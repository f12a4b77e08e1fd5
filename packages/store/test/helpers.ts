import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { onTestFinished } from "vitest";
import { createOwner } from "@budgie/core";
import { readOwnProcess } from "@budgie/core/owners";
import type { FinishedRun, Run } from "@budgie/core/runs";
import { createRunArchive, createRunLog, type RunArchive, type RunLogFile, type RunLogOptions } from "@budgie/store";

/** Creates a run that has ended, with all fields. */
export function makeRun(over: Partial<FinishedRun> = {}): FinishedRun {
  const startedMs = Date.now() - 1000;
  return {
    id: randomUUID(),
    agent: "tester",
    sessionId: randomUUID(),
    isolation: "container",
    startedMs,
    endedMs: startedMs + 1000,
    outcome: "answered",
    exit: { exitCode: 0, signal: undefined },
    promptBytes: 12,
    directory: "/home/ada/shop",
    answer: "Grüße",
    timedOut: false,
    retried: false,
    error: undefined,
    egress: {
      allowed: [{ host: "api.example.com", port: 443, count: 2 }],
      denied: [{ host: "evil.test", port: 443, count: 1, why: "not on the allow-list" }],
    },
    usage: { credits: 0.07 },
    facts: {
      access: { workspace: "rw", egress: "allowlist" },
      image: { used: "default", reason: "changed since it was allowed", file: "/home/ada/shop/Dockerfile.sandbox" },
      changedExecutablePaths: [".git/hooks/pre-commit"],
      denied: ["execute_bash"],
      warnings: ["The answer is short."],
    },
    ...over,
  };
}

/** Returns a run in the form in which a log returns it. */
export function toKept({ answer, ...run }: FinishedRun, delivered = false): Run {
  return { ...run, answerBytes: answer === undefined ? undefined : Buffer.byteLength(answer), delivered };
}

/** Creates a folder that is removed after the test. */
export function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "budgie-store-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The query for all runs of a test. */
export const ALL = { limit: 100 };

type Opened = RunLogFile & {
  readonly reports: readonly string[];
  /** Releases the lock, like the end of a process */
  readonly die: () => Promise<void>;
};

/** Opens a log, with its reports. */
export function open(stateDir: string, options: Partial<RunLogOptions> = {}): Opened {
  const reports: string[] = [];
  const process = readOwnProcess();
  // An earlier process with this pid, so that the owner lives only as long as it holds its lock, not as long as the test.
  const owner = createOwner({ stateDir, process: process === undefined ? undefined : { ...process, started: "0" } });
  onTestFinished(() => owner.release());
  const log = createRunLog({ stateDir, owner, report: (line) => void reports.push(line), ...options });
  onTestFinished(log.close);
  return { ...log, reports, die: () => owner.release() };
}

/** Opens the archive of a log. */
export function openArchive(stateDir: string): RunArchive {
  const archive = createRunArchive({ stateDir, owner: createOwner({ stateDir }) });
  onTestFinished(archive.close);
  return archive;
}

/** Changes the database of a log directly. */
export function edit(stateDir: string, sql: string): void {
  const database = new Database(join(stateDir, "runs.sqlite3"));
  database.exec(sql);
  database.close();
}

/** Returns the rows of a query of the database of a log. */
export function query(stateDir: string, sql: string): readonly unknown[] {
  const database = new Database(join(stateDir, "runs.sqlite3"));
  const rows = database.prepare(sql).all();
  database.close();
  return rows;
}

/** Returns the caller of this run's session. */
export function toCaller({ agent, sessionId = "" }: FinishedRun): {
  readonly agent: string;
  readonly sessionId: string;
} {
  return { agent, sessionId };
}
