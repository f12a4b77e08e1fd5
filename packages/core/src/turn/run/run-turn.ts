import { BudgieError } from "../../errors.ts";
import type { ProtocolAnswer } from "../../protocol/protocol.ts";
import { STEPS } from "./steps.ts";
import { fillSettings, type TurnDependencies } from "../turn-settings.ts";
import { Turn, type Reply, type RunTurn } from "../turn.ts";
import { walkSteps } from "./walk-steps.ts";

/** Creates a function that runs turns, each through the {@link STEPS}. */
export function createRunTurn(dependencies: TurnDependencies): RunTurn {
  const settings = fillSettings(dependencies);
  const steps = Object.values(STEPS).map((create) => create(settings));
  return async (asked, hooks = {}) => {
    const turn = new Turn(asked, hooks);
    try {
      return toReply(turn, await walkSteps(steps, turn, endWithoutAgent));
    } catch (error) {
      if (error instanceof BudgieError) addReport(turn, error);
      throw error;
    }
  };
}

function endWithoutAgent(): never {
  throw new TypeError("No step asked an agent.");
}

/** Adds what the steps reported to what the error itself knows. */
function addReport({ report }: Turn, error: BudgieError): void {
  const all = [...(error.report.warnings ?? []), ...(report.warnings ?? [])];
  const warnings = error.report.warnings === undefined && report.warnings === undefined ? {} : { warnings: all };
  error.report = { ...error.report, ...report, ...warnings };
}

function toReply(turn: Turn, answer: ProtocolAnswer): Reply {
  const { id, report, request, route, session, use } = turn;
  const { denied, exit, response } = answer;
  return {
    response,
    sessionId: session.id,
    agent: request.agent.name,
    directory: session.directory,
    isolation: route.runner.isolation,
    durationMs: use.durationMs,
    exit,
    retried: turn.attempts > 1,
    denied,
    usage: report.usage,
    disk: use.disk,
    changedExecutablePaths: report.changedExecutablePaths ?? [],
    egress: report.egress,
    missed: report.missed ?? [],
    ...(report.moreMissed === undefined ? {} : { moreMissed: report.moreMissed }),
    ...(report.changedFiles === undefined ? {} : { changedFiles: report.changedFiles }),
    ...(report.others === undefined ? {} : { others: report.others }),
    ...(report.mcpServers === undefined ? {} : { mcpServers: report.mcpServers }),
    ...(report.image === undefined ? {} : { image: report.image }),
    ...(report.copy === undefined ? {} : { copy: report.copy }),
    warnings: report.warnings ?? [],
    runId: id,
  };
}
