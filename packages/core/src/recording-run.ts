import { randomUUID } from "node:crypto";
import { cutText } from "./cut-text.ts";
import { BudgieError } from "./errors.ts";
import type { Run, RunLog } from "./run-log.ts";

/** What a turn leaves behind however it ends. */
export type RunNotes = {
  sessionId: string | undefined;
  /** How many tries it took */
  tries: number;
  exit: Run["exit"];
};

/** What is known of a run before it begins. */
export type RunSubject = Pick<Run, "agent" | "isolation" | "promptBytes">;

// A message may quote what an agent said.
const LONGEST_ERROR_BYTES = 4_000;

/** Runs a turn, and has it in the log before its answer goes anywhere. */
export async function recordingRun<Reply extends Answered>(
  log: RunLog | undefined,
  subject: RunSubject,
  turn: (notes: RunNotes) => Promise<Reply>,
): Promise<Reply> {
  const notes: RunNotes = { sessionId: undefined, tries: 0, exit: undefined };
  const startedMs = Date.now();
  const record = async (outcome: Pick<Run, "answerBytes" | "egress" | "error" | "outcome">): Promise<void> => {
    const { exit, sessionId, tries } = notes;
    const run = { id: randomUUID(), sessionId, exit, retried: tries > 1, startedMs, endedMs: Date.now() };
    await log?.record({ ...subject, ...run, ...outcome });
  };
  let reply: Reply;
  try {
    reply = await turn(notes);
  } catch (error) {
    await record({ ...toFailure(error), answerBytes: undefined });
    throw error;
  }
  const { egress, response } = reply;
  await record({ outcome: "answered", answerBytes: Buffer.byteLength(response), error: undefined, egress });
  return reply;
}

type Answered = { readonly response: string } & Pick<Run, "egress">;

function toFailure(error: unknown): Pick<Run, "egress" | "error" | "outcome"> {
  const message = error instanceof Error ? error.message : String(error);
  const known = error instanceof BudgieError ? error : undefined;
  return { outcome: known?.code ?? "BUG", error: cutText(message, LONGEST_ERROR_BYTES), egress: known?.egress };
}
