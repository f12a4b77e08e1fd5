import type Docker from "dockerode";
import { BudgieError } from "@budgie/core";
import { ENDING_LIMIT_MS, timeLimit } from "./time-limits.ts";
import { ignoreMissing, statusOf } from "./docker-errors.ts";

/** Removes a container with the anonymous volumes of its image, and confirms that it is gone. */
export async function removeContainer(container: Docker.Container): Promise<void> {
  const limit = timeLimit(ENDING_LIMIT_MS);
  try {
    await container.remove({ force: true, v: true, ...limit });
  } catch (error) {
    if (statusOf(error) !== 409) return ignoreMissing(error);
    // Another program is removing it, such as a budgie that collects garbage.
    await container.wait({ condition: "removed", ...limit }).catch(ignoreMissing);
  }
  if ((await container.inspect(limit).catch(ignoreMissing)) === undefined) return;
  throw new BudgieError("RUNNER_UNAVAILABLE", `The engine removed a container and still has it. Check the engine.`);
}
