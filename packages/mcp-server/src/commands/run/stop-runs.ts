import { createOwner } from "@budgie/core";
import type { Config } from "../../config/config.ts";
import { askRun, findLiveRun, findLiveRuns, type FoundRun } from "../../live/find-live-runs.ts";
import { runAnswer } from "../../live/run-requests.ts";
import type { Host } from "../../process/host.ts";
import { interruptible } from "../../process/interruptible.ts";

/** Runs `budgie stop`: cancels turns, and waits until they have ended. */
export async function stopRuns(config: Config, ids: readonly string[], host: Host): Promise<number> {
  return interruptible(host, async (signal) => {
    const found = await findLiveRuns(createOwner(config));
    const runs = ids.map((id) => findLiveRun(found, id));
    await Promise.all(runs.map(async (run) => host.stdout.write(`${await stop(run, signal)}\n`)));
    return 0;
  });
}

async function stop({ owner, runId }: FoundRun, signal: AbortSignal): Promise<string> {
  for await (const answer of askRun(owner, { ask: "stop", runId }, signal)) {
    const { outcome } = runAnswer.stop.parse(answer);
    return outcome === "CANCELLED" ? `stopped ${runId}` : `${runId} ended by itself meanwhile: ${outcome}`;
  }
  return `${runId} ended by itself meanwhile`;
}
