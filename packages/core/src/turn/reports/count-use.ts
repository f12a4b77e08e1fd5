import { BudgieError } from "../../errors.ts";
import type { AgentProcess } from "../../runner/runner.ts";
import { createEgressTally } from "../egress-tally.ts";
import type { Step, Turn } from "../turn.ts";

const EGRESS_EVERY_MS = 1_000;

/** Counts what the turn uses: its time, its network access, its disk. */
export function countUse(): Step {
  return async (turn, next) => {
    const began = performance.now();
    turn.tally = createEgressTally();
    const unfollow = followEgress(turn);
    try {
      const answer = await next();
      const { kept } = answer;
      countEgress(turn, kept);
      const disk = await readDisk(turn, kept);
      turn.use = { durationMs: Math.round(performance.now() - began), disk };
      turn.report.egress = await turn.tally.total();
      return answer;
    } catch (error) {
      countEgress(turn);
      turn.report.durationMs = Math.round(performance.now() - began);
      // After a bug, a process may live on that nothing would end.
      if (error instanceof BudgieError) turn.report.egress = await turn.tally.total();
      throw error;
    } finally {
      unfollow();
    }
  };
}

/** Tells the last process's network access each second, until the returned function is called. */
function followEgress({ events, processes, tally }: Turn): () => void {
  if (events.listenerCount("egress") === 0) return () => undefined;
  const timer = setInterval(() => {
    const since = processes.at(-1)?.egress?.();
    // The report at the turn's end contains only what came after this one.
    tally.add(since);
    void since?.then((report) => report && events.emit("egress", report));
  }, EGRESS_EVERY_MS).unref();
  return () => clearInterval(timer);
}

/** Counts the network access of a turn's processes; for one that lives on, only up to now. */
function countEgress({ processes, tally }: Turn, kept?: AgentProcess): void {
  for (const child of new Set(processes)) tally.add(whenOver(child, kept).then(() => child.egress?.()));
}

async function readDisk({ processes }: Turn, kept?: AgentProcess) {
  const last = processes.at(-1);
  if (last !== undefined) await whenOver(last, kept);
  return last?.disk?.();
}

/** Resolves once a process has ended, at once if it lives on. */
async function whenOver(child: AgentProcess, kept?: AgentProcess): Promise<unknown> {
  return child === kept ? undefined : child.exit.catch(() => undefined);
}
