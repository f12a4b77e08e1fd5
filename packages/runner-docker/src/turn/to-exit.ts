import { constants } from "node:os";
import type { Exit, StopReason } from "@budgie/core";
import { NOT_RUN } from "../sandbox/init-script.ts";

/** What the engine says of a container that has ended. */
export type ContainerEnd = {
  readonly exitCode: number;
  readonly oomKilled: boolean;
  /** Why budgie stopped it, if it did */
  readonly stopped: StopReason | "disk-limit" | undefined;
};

// Shells and the engine report a death by signal n as 128 + n. Of two names for one signal the usual one comes first.
const SIGNALS = new Map(
  Object.entries(constants.signals)
    .toReversed()
    .map(([name, number]) => [128 + number, name]),
);

const NEVER_RUN = { exitCode: undefined, signal: undefined, reason: "command-not-found" } as const;

/** Tells how a turn ended. A success in spite of a killed helper process stays one: the agent lived on. */
export function toExit({ exitCode, oomKilled, stopped }: ContainerEnd): Exit {
  if (exitCode === NOT_RUN && stopped === undefined) return { ...NEVER_RUN, oomKilled };
  const signal = SIGNALS.get(exitCode);
  const ended = signal === undefined ? { exitCode, signal: undefined } : { exitCode: undefined, signal };
  return { ...ended, reason: stopped ?? (oomKilled && exitCode !== 0 ? "out-of-memory" : undefined), oomKilled };
}
