import { createOwner } from "@budgie/core";
import type { Config } from "../../config/config.ts";
import { askRun, findLiveRun, findLiveRuns, type FoundRun } from "./find-live-runs.ts";
import { EXIT, type Host } from "@budgie/mcp-server";
import { runAnswer } from "@budgie/core/live";
import { interruptible } from "../../process/interruptible.ts";

/** Runs `budgie stop`: cancels turns, without ids the only one, and waits until they have ended. */
export async function stopRuns(config: Config, ids: readonly string[], host: Host): Promise<number> {
  return interruptible(host, async (signal) => {
    const found = await findLiveRuns(createOwner(config));
    signal.throwIfAborted();
    const runs = ids.length === 0 ? [findLiveRun(found, undefined)] : ids.map((id) => findLiveRun(found, id));
    const stopped = await Promise.all(
      runs.map(async (run) => {
        const { hasEnded, text } = await stop(run, signal);
        host.stdout.write(`${text}\n`);
        return hasEnded;
      }),
    );
    return stopped.every(Boolean) ? EXIT.done : EXIT.failed;
  });
}

type Stopped = { readonly hasEnded: boolean; readonly text: string };

async function stop({ owner, runId }: FoundRun, signal: AbortSignal): Promise<Stopped> {
  for await (const answer of askRun(owner, { ask: "stop", runId }, signal)) {
    const { outcome } = runAnswer.stop.parse(answer);
    if (outcome === "CANCELLED") return { hasEnded: true, text: `stopped ${runId}` };
    // The engine, or the system, did not confirm the end.
    if (outcome === "RUNNER_UNAVAILABLE") return { hasEnded: false, text: `${runId} may still run: ${outcome}` };
    return { hasEnded: true, text: `${runId} ended by itself meanwhile: ${outcome}` };
  }
  return { hasEnded: false, text: `${runId} gave no answer; "budgie runs show ${runId}" may have its end` };
}
