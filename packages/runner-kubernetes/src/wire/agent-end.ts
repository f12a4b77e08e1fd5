import { constants } from "node:os";
import { wireError } from "./wire-error.ts";

/** The end of a turn's program, as the Pod's `hold` saw it. */
export type AgentEnd = {
  /** `undefined` if a signal ended it */
  readonly exitCode: number | undefined;
  readonly signal: NodeJS.Signals | undefined;
  /** The processes that the kernel ended for lack of memory */
  readonly oomKills: number;
};

/** Returns the end of a turn from the last value of its stream. Throws unless it is exactly one. */
export function parseAgentEnd({ exitCode, oomKills, signal }: Readonly<Record<string, unknown>>): AgentEnd {
  if (!isCount(oomKills)) throw notAnEnd();
  if (isCount(exitCode) && exitCode <= 255 && signal === null) return { exitCode, signal: undefined, oomKills };
  if (exitCode === null && isSignal(signal)) return { exitCode: undefined, signal, oomKills };
  throw notAnEnd();
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isSignal(value: unknown): value is NodeJS.Signals {
  return typeof value === "string" && Object.hasOwn(constants.signals, value);
}

function notAnEnd(): Error {
  return wireError("it ended a turn without saying how");
}
