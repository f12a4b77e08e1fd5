import { setTimeout as sleep } from "node:timers/promises";
import { BudgieError } from "@budgie/core";
import type { Connection } from "./connection.ts";

/** The name by which Gemini CLI introduces itself. */
const GEMINI = "gemini-cli";

type Loading = {
  /** The agent's name, for messages */
  readonly agent: string;
  /** The time of the conversation's begin, if known */
  readonly begunMs: number | undefined;
  /** Returns the limit of the next request */
  readonly limitMs: () => number;
  /** The name by which the program introduces itself */
  readonly program: string | undefined;
};

const MINUTE_MS = 60_000;
// The clock of another machine's engine may differ a little.
const MARGIN_MS = 1000;
const LOOK_MS = 250;

/**
 * Resolves once a program may load its conversation. Gemini CLI destroys one that it loads in the clock minute in which it began it
 * (gemini-cli#28693), so its next minute is waited for. Throws `TIMED_OUT` if the turn has less time.
 */
export async function untilLoadable(
  connection: Connection,
  { agent, begunMs, limitMs, program }: Loading,
): Promise<void> {
  if (program !== GEMINI || begunMs === undefined) return;
  const loadableMs = (Math.floor(begunMs / MINUTE_MS) + 1) * MINUTE_MS + MARGIN_MS;
  // The agent's home has the time of the begin, so it may be any.
  const endMs = Math.min(loadableMs, Date.now() + MINUTE_MS + MARGIN_MS);
  while (Date.now() < endMs && connection.isOpen()) {
    if (limitMs() <= LOOK_MS) {
      const message = `Gemini CLI cannot resume the conversation of the agent "${agent}" before the minute of its begin is over.`;
      throw new BudgieError("TIMED_OUT", `${message} Give the turn more time.`);
    }
    await sleep(Math.min(LOOK_MS, endMs - Date.now()));
  }
}

const LOST = /^(?:Invalid session identifier "|No previous sessions found for this project\b)/;

/** Returns true for the reason, from `toReason`, with which Gemini CLI says that it does not have a conversation any more. */
export function isLostByGemini(reason: string, program: string | undefined): boolean {
  return program === GEMINI && LOST.test(reason.replace(/^Internal error: /, ""));
}
