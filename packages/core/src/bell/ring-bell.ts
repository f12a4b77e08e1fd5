import { KNOWN_TELEMETRY, type EgressReport } from "../egress.ts";
import { BudgieError } from "../errors.ts";
import type { ProtocolAnswer } from "../protocol/protocol.ts";
import type { Step, Turn } from "../turn/turn.ts";
import type { Bell } from "./create-bell.ts";
import { formatBellFacts, type BellEvent, type BellFacts } from "./format-bell-facts.ts";

// These ends are told as what caused them.
const EVENTS: Readonly<Record<string, BellEvent>> = { WORKSPACE_INVALID: "refusal", BUDGET_SPENT: "budget" };

/** Creates a step that rings the bell when a turn was refused a host, when a budget is told, and at its end. */
export function ringBell({ ring }: Pick<Bell, "ring">): Step {
  return async (turn, next) => {
    const begunMs = performance.now();
    const ringOf = (event: BellEvent, known: Partial<BellFacts>): void =>
      ring(formatBellFacts({ ...toFacts(turn), event, durationMs: performance.now() - begunMs, ...known }));
    let hasTold = false;
    turn.events.on("egress", ({ denied }) => {
      const refusedHosts = listRefused({ denied });
      if (hasTold || refusedHosts.length === 0) return;
      hasTold = true;
      ringOf("refusal", { refusedHosts });
    });
    turn.events.on("budget", (message) => ringOf("budget", { message }));
    try {
      const answer: ProtocolAnswer = await next();
      ringOf("end", { outcome: "answered", refusedTools: answer.denied });
      return answer;
    } catch (error) {
      const outcome = error instanceof BudgieError ? error.code : "BUG";
      const own = error instanceof BudgieError ? error.report : {};
      const warnings = [...(own.warnings ?? []), ...(turn.report.warnings ?? [])];
      // An agent's words may be in the message of another error.
      const message = outcome === "BUDGET_SPENT" ? (error as BudgieError).message : undefined;
      ringOf(EVENTS[outcome] ?? "end", { outcome, message, warnings });
      throw error;
    }
  };
}

/** Returns what is known of a turn by now; a call that was refused early has neither an agent nor a session. */
function toFacts(turn: Turn): Omit<BellFacts, "durationMs" | "event"> {
  const { asked, id, report } = turn;
  const { request, session } = turn as Partial<Pick<Turn, "request" | "session">>;
  return {
    runId: id,
    agent: request?.agent.name,
    sessionId: session?.id ?? request?.sessionId,
    directory: (request ?? asked).directory,
    outcome: undefined,
    refusedHosts: listRefused(report.egress),
    refusedTools: [],
    changedExecutablePaths: report.changedExecutablePaths ?? [],
    usage: report.usage,
    message: undefined,
    warnings: report.warnings ?? [],
  };
}

function listRefused({ denied = [] }: Partial<Pick<EgressReport, "denied">> = {}): EgressReport["denied"] {
  return denied.filter(({ why }) => why !== KNOWN_TELEMETRY);
}
