import { methods } from "@agentclientprotocol/sdk";
import { z } from "zod";
import { BudgieError, formatOption } from "@budgie/core";
import type { AcpProgram } from "./acp-program.ts";
import type { Connection } from "./connection.ts";
import { isSwitchedOff, findSwitchOff } from "../kiro/switch-off.ts";
import { unproven } from "../kiro/prove-agent.ts";

const { agent: METHODS } = methods;

type KiroConversation = {
  /** The agent's name, for messages */
  readonly agent: string;
  /** The conversation's id */
  readonly id: string;
  readonly limitMs: () => number;
};

const MOST_PAGES = 100;

/** Throws `SESSION_UNUSABLE` unless V3 lists the conversation, since it would begin a new one under an id that it does not know. */
export async function findListed(
  connection: Connection,
  { agent, cwd, id, limitMs }: KiroConversation & { readonly cwd: string },
): Promise<void> {
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page++) {
    const params = cursor === undefined ? { cwd } : { cwd, cursor };
    const listed = await connection.request(METHODS.session.list, params, { answer: list, timeoutMs: limitMs() });
    if (listed.sessions.some((each) => (each as { readonly sessionId?: unknown } | null)?.sessionId === id)) return;
    if (listed.nextCursor === undefined || listed.nextCursor === null) break;
    cursor = listed.nextCursor;
  }
  throw new BudgieError(
    "SESSION_UNUSABLE",
    `Kiro does not know the conversation of the agent "${agent}" any more. Begin a new session.`,
  );
}

const list = z.object({ sessions: z.array(z.unknown()), nextCursor: z.string().max(10_000).nullish() });

type Autopilot = KiroConversation & {
  readonly program: Pick<AcpProgram, "permission">;
  readonly state: { readonly configOptions?: unknown } | null;
};

/**
 * Switches autopilot off, which is on by default: V3 then asks before it uses a tool, and gets the policy's answer. Throws `AGENT_FAILED`
 * unless V3 says that it is off. Changes nothing if the agent may use every tool.
 */
export async function switchAutopilotOff(
  connection: Connection,
  { agent, id, limitMs, program, state }: Autopilot,
): Promise<void> {
  if (program.permission === "allow") return;
  const request = findSwitchOff(state?.configOptions);
  if (request === undefined) throw stillOn(agent);
  const expected = { answer: z.object({ configOptions: z.unknown() }), timeoutMs: limitMs() };
  const answer = await connection.request(METHODS.session.setConfigOption, { sessionId: id, ...request }, expected);
  if (!isSwitchedOff(answer.configOptions)) throw stillOn(agent);
}

function stillOn(agent: string): BudgieError {
  return new BudgieError(
    "AGENT_FAILED",
    `Kiro would let the agent "${agent}" use every tool unasked, since its option "autopilot" cannot be switched off. ` +
      `Use another version of Kiro or its V2 harness, or allow all tools with ${formatOption("trustAllTools")}.`,
  );
}

/** Throws `AGENT_NOT_FOUND` if V3 has reported meanwhile that it did not take the agent. */
export function refuseRefused({ refused }: Pick<Connection, "refused">, agent: string): void {
  if (refused.aborted) throw unproven(agent, String(refused.reason));
}
