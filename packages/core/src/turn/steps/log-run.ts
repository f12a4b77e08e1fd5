import { BudgieError } from "../../errors.ts";
import { createTail, TRANSCRIPT_BYTES } from "../../protocol/bounded-output.ts";
import type { ProtocolAnswer } from "../../protocol/protocol.ts";
import type { BegunRun, FinishedRun, McpCall } from "../../runs/run-log.ts";
import { truncateText } from "../../text/truncate-text.ts";
import { createToolCounts } from "../tool-counts.ts";
import { toRunFacts } from "../to-run-facts.ts";
import type { TurnSettings } from "../turn-settings.ts";
import type { Step, Turn } from "../turn.ts";

// A message may quote what an agent said.
const LONGEST_ERROR_BYTES = 4_000;

const MOST_MCP_CALLS = 200;

/** Records the turn in the run log, however it ends. Its answer is in the log before the caller gets it. */
export function logRun({ runLog }: Pick<TurnSettings, "runLog">): Step {
  return async (turn, next) => {
    let begun = toBegunRun(turn);
    turn.report.agent = begun.agent;
    // The turn does not wait for this.
    let beginning = runLog.begin(begun);
    const mcpCalls: McpCall[] = [];
    const tools = createToolCounts();
    const output = runLog.keepsTranscripts === true ? createTail(TRANSCRIPT_BYTES) : undefined;
    let exit: FinishedRun["exit"];
    turn.events.on("exit", (ended) => void (exit = ended));
    if (output !== undefined) turn.events.on("output", (chunk) => output.add(chunk));
    turn.events.on("tool", tools.add);
    turn.events.on("mcpCall", (call) => void (mcpCalls.length < MOST_MCP_CALLS && mcpCalls.push(call)));
    turn.events.on("session", (sessionId) => {
      if (begun.sessionId === sessionId) return;
      const known = { ...begun, sessionId };
      begun = known;
      beginning = beginning.then(() => runLog.begin(known));
    });
    const clock = performance.now();

    const finish = async ({ denied = [], ...ending }: Ending): Promise<void> => {
      await beginning;
      // By a monotonic clock.
      const endedMs = begun.startedMs + Math.floor(performance.now() - clock);
      const calls = mcpCalls.length === 0 ? {} : { mcpCalls };
      const { egress, others, usage } = turn.report;
      const facts = toRunFacts(turn, { denied, tools: tools.list() });
      const transcript = output?.text() || undefined;
      const printed = transcript === undefined ? {} : { transcript };
      const reported = { ...printed, egress, usage, facts, ...(others === undefined ? {} : { others }) };
      await runLog.finish({ ...begun, endedMs, exit, retried: turn.attempts > 1, ...calls, ...reported, ...ending });
    };

    const answer = await next().catch(async (error: unknown) => {
      await finish(failureOf(error));
      throw error;
    });
    const { denied, response } = answer;
    await finish({ outcome: "answered", timedOut: false, answer: response, error: undefined, denied });
    return answer;
  };
}

function toBegunRun({ client, id, request: { agent, directory, promptBytes, sessionId }, route }: Turn): BegunRun {
  const { isolation } = route.runner;
  return { id, agent: agent.name, sessionId, isolation, promptBytes, directory, client, startedMs: Date.now() };
}

type Ending = Pick<FinishedRun, "answer" | "error" | "outcome" | "timedOut"> & Partial<Pick<ProtocolAnswer, "denied">>;

function failureOf(error: unknown): Ending {
  const message = error instanceof Error ? error.message : String(error);
  return {
    outcome: error instanceof BudgieError ? error.code : "BUG",
    timedOut: isTimeout(error),
    answer: undefined,
    error: truncateText(message, LONGEST_ERROR_BYTES),
  };
}

/** Also returns true for a timeout that is not retried because the attempt changed files. */
function isTimeout(error: unknown): boolean {
  if (!(error instanceof BudgieError)) return false;
  return error.code === "TIMED_OUT" || (error.code === "INDETERMINATE" && isTimeout(error.cause));
}
