import { setTimeout as sleep } from "node:timers/promises";
import { BudgieError } from "../errors.ts";
import type { AgentProcess, StartOptions } from "../runner/runner.ts";
import type { Standby, StandbyPlace } from "./standby-place.ts";

/**
 * Takes the process that stands by if a start with these options would make the same one: if its key is what `readKey` returns. Otherwise ends
 * it, and resolves to `undefined` once nothing of it runs. Throws `CANCELLED` if the start was cancelled.
 */
export async function takeHeld<T extends Standby>(
  place: StandbyPlace<T>,
  { ready, signal }: StartOptions,
  readKey: () => Promise<string | undefined>,
): Promise<AgentProcess | undefined> {
  refuseCancelled(signal);
  await place.cleared();
  const held = place.state() === "held" ? await place.take() : undefined;
  if (held === undefined) return undefined;
  try {
    // The first snapshot of the workspace comes before the process gets a prompt.
    await ready;
    const isSame = held.key === (await readKey());
    refuseCancelled(signal);
    if (isSame) return held.process;
  } catch (error) {
    await held.end();
    throw error;
  }
  await held.end();
  return undefined;
}

function refuseCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new BudgieError("CANCELLED", "The turn was cancelled before it started.");
}

// Some agents, such as codex-acp, do not end with their input.
const END_LIMIT_MS = 500;

/** Lets a process stand by in a place. */
export function toStanding(
  child: AgentProcess,
  place: Pick<StandbyPlace<Standby>, "hold">,
  { end, key }: Pick<Standby, "end" | "key">,
): AgentProcess {
  const process = { ...child, standBy: () => place.hold({ key, process, end }) };
  return process;
}

/** Ends a process's input, and stops it if it does not end by itself. */
export async function endProcess(child: AgentProcess): Promise<void> {
  child.stdin.end();
  const isEnded = await Promise.race([child.exit.then(() => true), sleep(END_LIMIT_MS, false, { ref: false })]);
  if (!isEnded) await child.stop("shutdown");
  await child.exit;
}
