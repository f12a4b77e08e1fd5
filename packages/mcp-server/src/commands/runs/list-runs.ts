import { toDurationText, type Run } from "@budgie/core";
import type { Config } from "../../config/config.ts";
import type { Host } from "../../process/host.ts";
import { noRunsText, parseLast, toRunFacts, withRunArchive, type RunFilter } from "./run-archive.ts";
import { resolveAgentName } from "../../mcp/names/find-agent.ts";
import { toSafeJson } from "../../terminal/safe-json.ts";
import { toTable } from "../../terminal/table.ts";

export type ListRunsOptions = {
  /** A number, as text */
  readonly last: string;
  /** Default: all agents */
  readonly agent?: string;
  readonly session?: string;
  readonly json: boolean;
};

/** Runs `budgie runs ls`: prints the last turns, the newest first. */
export async function listRuns(config: Config, options: ListRunsOptions, { stdout }: Host): Promise<number> {
  const { json, last, session: sessionId } = options;
  const agent = resolveAgentName(options.agent, config);
  const limit = parseLast(last);
  const runs = await withRunArchive(config, (archive) => archive.recent({ limit, agent, sessionId }));
  stdout.write(json ? toSafeJson(runs.map(toRunFacts)) : runsText(runs, { agent, sessionId }));
  return 0;
}

function runsText(runs: readonly Run[], filter: RunFilter): string {
  if (runs.length === 0) return noRunsText(filter);
  const head = ["RUN", "STARTED", "AGENT", "OUTCOME", "TOOK", "ANSWER", "SESSION"];
  return `${toTable([head, ...runs.map(toRow)]).join("\n")}\n`;
}

// Distinguishes some thousands of runs.
const ID_LENGTH = 8;

function toRow({ agent, answerBytes, delivered, endedMs, id, outcome, sessionId = "", startedMs }: Run) {
  return [
    id.slice(0, ID_LENGTH),
    new Date(startedMs).toISOString().replace(/\.\d+Z$/, "Z"),
    agent,
    outcome === "answered" && !delivered ? "answered, not delivered" : outcome,
    endedMs === undefined ? "" : toDurationText(Math.max(endedMs - startedMs, 0)),
    answerBytes === undefined ? "" : `${answerBytes} bytes`,
    sessionId,
  ];
}
