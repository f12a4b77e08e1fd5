import { constants } from "node:os";
import type { Exit, StopReason } from "@budgie/core";
import { NOT_RUN } from "./init-script.ts";

/** The engine's facts about a container that has ended. */
export type ContainerEnd = {
  readonly exitCode: number;
  readonly oomKilled: boolean;
  /** The reason for which budgie stopped it, if it did */
  readonly stopped: StopReason | "disk-limit" | undefined;
};

// Shells and the engine report death by signal n as 128 + n. If a signal has two names, the first one is the usual one.
const SIGNALS = new Map(
  Object.entries(constants.signals)
    .toReversed()
    .map(([name, number]) => [128 + number, name]),
);

const NEVER_RUN = { exitCode: undefined, signal: undefined, reason: "command-not-found" } as const;

/** Returns how a turn ended. If only a helper process was killed for memory and the agent succeeded, it is a success. */
export function toExit({ exitCode, oomKilled, stopped }: ContainerEnd): Exit {
  if (exitCode === NOT_RUN && stopped === undefined) return { ...NEVER_RUN, oomKilled };
  const signal = SIGNALS.get(exitCode);
  const ended = signal === undefined ? { exitCode, signal: undefined } : { exitCode: undefined, signal };
  return { ...ended, reason: stopped ?? (oomKilled && exitCode !== 0 ? "out-of-memory" : undefined), oomKilled };
}
