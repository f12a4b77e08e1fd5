import { setTimeout as sleep } from "node:timers/promises";
import type { Exit, StopReason } from "@budgie/core";
import { orAborted } from "@budgie/core/bounds";
import { NOT_RUN } from "@budgie/sandbox/init";
import type { AgentEnd } from "../wire/index.ts";

/** A process in a Pod, as far as stopping it needs. */
export type Stoppable = {
  /** Sends a signal to all its processes */
  readonly signal: (name: "TERM" | "KILL") => Promise<unknown>;
  /** Settles when it has certainly ended */
  readonly ended: Promise<unknown>;
};

// A shutdown's is short: the MCP SDK's client kills a server 4 s after the end of its stdin.
const GRACE_MS: Readonly<Record<StopReason, number>> = { timeout: 5_000, cancelled: 5_000, shutdown: 2_000 };
const KILL_MS = 30_000;

/** Asks a process to end, and kills it if it does not. Rejects unless it has certainly ended. */
export async function stopProcess({ ended, signal }: Stoppable, reason: StopReason): Promise<void> {
  const over = new AbortController();
  const ending = ended.finally(() => over.abort());
  ending.catch(() => undefined);
  // One that cannot be asked is killed, and that fails if the Pod is gone.
  void signal("TERM").catch(() => undefined);
  await sleep(GRACE_MS[reason], undefined, { signal: over.signal }).catch(() => undefined);
  const limit = AbortSignal.timeout(KILL_MS);
  // Its answer may take as long as its effect, and both have the same time.
  if (!over.signal.aborted) await orAborted(signal("KILL"), limit);
  await orAborted(ending, limit);
}

/** Facts that only budgie and the sidecar know about an end. */
export type EndFacts = { readonly isDiskFull: boolean; readonly stopped: StopReason | undefined };

/** Returns how a process ended. If only a helper was killed for memory and the agent succeeded, it is a success. */
export function toPodExit({ exitCode, oomKills, signal }: AgentEnd, { isDiskFull, stopped }: EndFacts): Exit {
  const oomKilled = oomKills > 0;
  const reason = stopped ?? (isDiskFull ? "disk-limit" : undefined);
  if (exitCode === NOT_RUN && reason === undefined) {
    return { exitCode: undefined, signal: undefined, reason: "command-not-found", oomKilled };
  }
  return { exitCode, signal, oomKilled, reason: reason ?? (oomKilled && exitCode !== 0 ? "out-of-memory" : undefined) };
}
