import { truncateText } from "../text/text.ts";
import { BudgieError } from "../errors.ts";
import type { BegunRun, FinishedRun, McpCall, RunLog } from "./run-log.ts";

/** The facts about a turn that are recorded however it ends. */
export type RunNotes = {
  /** Sets the turn's session, once it is known */
  readonly inSession: (sessionId: string) => void;
  /** Adds a call of an MCP server's tool; only the first 200 are kept */
  readonly addMcpCall: (call: McpCall) => void;
  /** The number of attempts */
  attempts: number;
  exit: FinishedRun["exit"];
};

/** The facts about a run before it begins. */
export type RunSubject = Omit<BegunRun, "startedMs">;

// A message may quote what an agent said.
const LONGEST_ERROR_BYTES = 4_000;

const MOST_MCP_CALLS = 200;

/** Runs a turn, and resolves when its answer is in the log. */
export async function recordRun<Reply extends Answered>(
  log: RunLog,
  subject: RunSubject,
  turn: (notes: RunNotes) => Promise<Reply>,
): Promise<Reply & { readonly runId: string }> {
  let begun: BegunRun = { ...subject, startedMs: Date.now() };
  // The turn does not wait for this.
  let beginning = log.begin(begun);
  const mcpCalls: McpCall[] = [];
  const notes: RunNotes = {
    inSession(sessionId) {
      if (begun.sessionId === sessionId) return;
      const known = { ...begun, sessionId };
      begun = known;
      beginning = beginning.then(() => log.begin(known));
    },
    addMcpCall: (call) => void (mcpCalls.length < MOST_MCP_CALLS && mcpCalls.push(call)),
    attempts: 0,
    exit: undefined,
  };
  const clock = performance.now();
  const finish = async (ending: Ending): Promise<void> => {
    await beginning;
    // By a monotonic clock.
    const endedMs = begun.startedMs + Math.floor(performance.now() - clock);
    const calls = mcpCalls.length === 0 ? {} : { mcpCalls };
    await log.finish({ ...begun, endedMs, exit: notes.exit, retried: notes.attempts > 1, ...calls, ...ending });
  };

  let reply: Reply;
  try {
    reply = await turn(notes);
  } catch (error) {
    await finish(toFailure(error));
    throw error;
  }
  const { egress, response, usage } = reply;
  await finish({ outcome: "answered", timedOut: false, answer: response, error: undefined, egress, usage });
  return { ...reply, runId: begun.id };
}

type Answered = { readonly response: string } & Pick<FinishedRun, "egress" | "usage">;

type Ending = Pick<FinishedRun, "answer" | "egress" | "error" | "outcome" | "timedOut" | "usage">;

function toFailure(error: unknown): Ending {
  const message = error instanceof Error ? error.message : String(error);
  const known = error instanceof BudgieError ? error : undefined;
  return {
    outcome: known?.code ?? "BUG",
    timedOut: isTimeout(error),
    answer: undefined,
    error: truncateText(message, LONGEST_ERROR_BYTES),
    egress: known?.report.egress,
    usage: undefined,
  };
}

/** Also returns true for a timeout that is not retried because the attempt changed files. */
function isTimeout(error: unknown): boolean {
  if (!(error instanceof BudgieError)) return false;
  return error.code === "TIMED_OUT" || (error.code === "INDETERMINATE" && isTimeout(error.cause));
}
