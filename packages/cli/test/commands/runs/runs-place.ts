import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { expect } from "vitest";
import { createOwner } from "@budgie/core";
import type { FinishedRun } from "@budgie/core/runs";
import { createRunLog } from "@budgie/store";
import type { BudgieUser } from "../../helpers/start-budgie.ts";

export const toStateDir = ({ host }: BudgieUser): string => join(host.home, ".local/state/budgie");

/** Creates a run that has ended. */
export function makeRun(over: Partial<FinishedRun> = {}): FinishedRun {
  const startedMs = Date.now() - 90_000;
  return {
    id: randomUUID(),
    agent: "reader",
    sessionId: randomUUID(),
    isolation: "none",
    startedMs,
    endedMs: startedMs + 15_300,
    outcome: "answered",
    exit: { exitCode: 0, signal: undefined },
    promptBytes: 5,
    answer: "All is well.",
    retried: false,
    timedOut: false,
    error: undefined,
    egress: undefined,
    usage: { credits: 0.07 },
    ...over,
  };
}

/** Writes runs to the user's log, and marks these as delivered. */
export async function remember(
  user: BudgieUser,
  runs: readonly FinishedRun[],
  delivered: readonly string[] = [],
): Promise<void> {
  const stateDir = toStateDir(user);
  const log = createRunLog({
    stateDir,
    owner: createOwner({ stateDir }),
    report: () => undefined,
    keepTranscripts: true,
  });
  for (const run of runs) await log.finish(run);
  await log.delivered(delivered);
  log.close();
}

/** Runs a command of `budgie runs`, and returns its JSON. */
export async function json(user: BudgieUser, ...argv: string[]): Promise<unknown> {
  const { exitCode, stderr, stdout } = await user.command(["runs", ...argv, "--json"]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  return JSON.parse(stdout);
}
