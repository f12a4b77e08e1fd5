import { methods, RequestError } from "@agentclientprotocol/sdk";
import { z } from "zod";
import { BudgieError } from "@budgie/core";
import { formatTitle } from "../answer/answer.ts";
import type { AcpProgram } from "./acp-program.ts";
import type { Connection } from "./connection.ts";
import { CODES } from "./format-request-error.ts";

type Opened = ModeOf & { readonly program: Pick<AcpProgram, "mode">; readonly state: ModeState };

type ModeOf = {
  /** The agent's name, for messages */
  readonly agent: string;
  readonly id: string;
  readonly limitMs: () => number;
};

type ModeState = { readonly modes?: { readonly currentModeId: string } | null | undefined } | null;

/** Checks that the requested agent answers, since another one could have more rights. */
export async function checkMode(connection: Connection, { agent, id, limitMs, program, state }: Opened): Promise<void> {
  const { mode } = program;
  const current = state?.modes?.currentModeId;
  if (mode === undefined || current === mode) return;
  // The answer for a resumed conversation need not name its mode.
  if (current === undefined && (await setMode(connection, { id, mode, limitMs }))) return;
  throw new BudgieError(
    "AGENT_NOT_FOUND",
    `${current === undefined ? "Another agent" : `The agent "${formatTitle(current)}"`} would have answered in place of "${agent}". ` +
      `Check that the agent's file is valid and where its program looks for agents.`,
  );
}

type ModeRequest = Pick<ModeOf, "id" | "limitMs"> & { readonly mode: string };

/** Asks for a mode. Resolves to false if the program does not know it. */
export async function setMode(connection: Connection, { id, limitMs, mode }: ModeRequest): Promise<boolean> {
  const expected = { answer: z.unknown(), timeoutMs: limitMs() };
  try {
    await connection.request(methods.agent.session.setMode, { sessionId: id, modeId: mode }, expected);
    return true;
  } catch (error) {
    // Any other error may be temporary, and must not cost the session.
    if (error instanceof RequestError && MODE_UNKNOWN.has(error.code)) return false;
    throw error;
  }
}

const MODE_UNKNOWN: ReadonlySet<number> = new Set([CODES.methodNotFound, CODES.resourceNotFound, CODES.invalidParams]);
