import { setTimeout as sleep } from "node:timers/promises";
import type Docker from "dockerode";
import { BudgieError } from "@budgie/core";
import { ENDING_LIMIT_MS, timeLimit } from "./with-timeout.ts";
import { ignoreMissing, isEnding, statusOf } from "./to-budgie-error.ts";

/** Removes a container with the anonymous volumes of its image, and confirms that it is gone. */
export async function removeContainer(container: Docker.Container): Promise<void> {
  const limit = timeLimit(ENDING_LIMIT_MS);
  try {
    await removeAfterEnd(container, limit);
  } catch (error) {
    if (statusOf(error) !== 409) return ignoreMissing(error);
    // Another program is removing it, such as a budgie that collects garbage.
    await container.wait({ condition: "removed", ...limit }).catch(ignoreMissing);
  }
  if ((await container.inspect(limit).catch(ignoreMissing)) === undefined) return;
  throw new BudgieError("RUNNER_UNAVAILABLE", `The engine removed a container and still has it. Check the engine.`);
}

const DELAYS_MS = [50, 250, 1000];

/** Removes a container, and tries again while it is ending by itself. */
async function removeAfterEnd(container: Docker.Container, limit: ReturnType<typeof timeLimit>): Promise<void> {
  for (const delayMs of [...DELAYS_MS, undefined]) {
    try {
      return void (await container.remove({ force: true, v: true, ...limit }));
    } catch (error) {
      if (delayMs === undefined || !isEnding(error)) throw error;
      await sleep(delayMs);
    }
  }
}
