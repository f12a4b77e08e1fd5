import { BudgieError, formatOption } from "@budgie/core";
import type { Engine } from "./engine.ts";

/** Throws `RUNNER_UNAVAILABLE` if the engine would not run containers with the requested runtime. */
export function checkRuntime({ name, runtimes }: Pick<Engine, "name" | "runtimes">, runtime: string | undefined): void {
  if (runtime === undefined) return;
  // Podman accepts any name and uses its default runtime: https://github.com/containers/podman/issues/28429
  if (name === "Podman") {
    throw new BudgieError(
      "RUNNER_UNAVAILABLE",
      `Podman does not take the runtime "${runtime}" from its callers. ` +
        `Set it as "runtime" in its containers.conf, and leave ${formatOption("runtime")} out.`,
    );
  }
  if (runtimes.includes(runtime)) return;
  const known = runtimes.map((found) => `"${found}"`).join(", ") || "none that it names";
  throw new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The engine has no runtime "${runtime}"; it has ${known}. Add it to "runtimes" in the engine's daemon.json, or leave ${formatOption("runtime")} out.`,
  );
}
