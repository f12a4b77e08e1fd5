import { constants } from "node:os";
import type { Exit, StopReason } from "@budgie/core";

/** What the engine says of a container that has ended. */
export type ContainerEnd = {
  readonly exitCode: number;
  readonly oomKilled: boolean;
  /** Why budgie stopped it, if it did */
  readonly stopped: StopReason | undefined;
};

// Shells and the engine report a death by signal n as 128 + n.
const SIGNALS = new Map(Object.entries(constants.signals).map(([name, number]) => [128 + number, name]));

/** Tells how a turn ended. A success in spite of a killed helper process stays one: the agent lived on. */
export function toExit({ exitCode, oomKilled, stopped }: ContainerEnd): Exit {
  const signal = SIGNALS.get(exitCode);
  const ended = signal === undefined ? { exitCode, signal: undefined } : { exitCode: undefined, signal };
  return { ...ended, reason: stopped ?? toReason(exitCode, oomKilled), oomKilled };
}

function toReason(exitCode: number, oomKilled: boolean): Exit["reason"] {
  if (oomKilled && exitCode !== 0) return "out-of-memory";
  // The sandbox's init looks for the program first, and says so with the shell's own codes.
  return exitCode === 127 || exitCode === 126 ? "command-not-found" : undefined;
}
