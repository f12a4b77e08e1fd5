import { randomUUID } from "node:crypto";
import { BudgieError, type Command } from "@budgie/core";
import { readBounded } from "@budgie/core/protocol";
import { startLocalProcess, type LocalProcess } from "./start-local-process.ts";

export type LocalPrinting = Pick<Command, "argv" | "env"> & {
  /** Holds the process until it has ended */
  readonly printing: Set<LocalProcess>;
};

const LIMIT_MS = 20_000;
const HELD_BYTES = 128 * 1024;

/** Runs a program to its end, and returns what it prints to stdout, without the middle of a long output. */
export async function printFromProcess({ argv, env, printing }: LocalPrinting): Promise<string> {
  const turn = randomUUID();
  const marked = { ...env, BUDGIE_TURN: turn };
  const child = startLocalProcess({ argv, env: marked, cwd: "/", mark: `BUDGIE_TURN=${turn}`, input: "" });
  printing.add(child);
  // `exit` reports the failure.
  const late = setTimeout(() => void child.stop("timeout").catch(() => undefined), LIMIT_MS);
  child.stderr.resume();
  try {
    const [{ text }, { reason }] = await Promise.all([
      readBounded(child.stdout, { heldBytes: HELD_BYTES }),
      child.exit,
      child.started,
    ]);
    if (reason === undefined || reason === "command-not-found") return text;
    throw new BudgieError(
      reason === "shutdown" ? "CANCELLED" : "RUNNER_UNAVAILABLE",
      `The program "${argv[0]}" could not be run to its end (${reason}). Check that it runs in a terminal.`,
    );
  } finally {
    clearTimeout(late);
    printing.delete(child);
  }
}
