import { BudgieError, toOption } from "@budgie/core";
import type { Engine } from "./engine.ts";

/** Throws `RUNNER_UNAVAILABLE` if the engine would not run containers with the requested runtime. */
export function checkRuntime({ name, runtimes }: Pick<Engine, "name" | "runtimes">, runtime: string | undefined): void {
  if (runtime === undefined) return;
  // Podman accepts any name and uses its default runtime: https://github.com/containers/podman/issues/28429
  if (name === "Podman") {
    throw new BudgieError(
      "RUNNER_UNAVAILABLE",
      `Podman does not take the runtime "${runtime}" from its callers. ` +
        `Set it as "runtime" in its containers.conf, and leave ${toOption("runtime")} out.`,
    );
  }
  if (runtimes.includes(runtime)) return;
  const known = runtimes.map((found) => `"${found}"`).join(", ") || "none that it names";
  throw new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The engine has no runtime "${runtime}"; it has ${known}. Add it to "runtimes" in the engine's daemon.json, or leave ${toOption("runtime")} out.`,
  );
}

// Neither gVisor nor Kata Containers lets containers share a loopback interface.
const OWN_NETWORK = /runsc|gvisor|kata/i;

/** Returns false for a runtime that gives each container a network stack of its own, judged by its name. */
export function sharesNetwork(runtime: string | undefined): boolean {
  return runtime === undefined || !OWN_NETWORK.test(runtime);
}

/** Throws `CONFIG_INVALID` if programs of the runtime's containers cannot reach the egress proxy. */
export function checkReach(runtime: string | undefined): void {
  if (sharesNetwork(runtime)) return;
  throw new BudgieError(
    "CONFIG_INVALID",
    `With the runtime "${runtime}", no program in a sandbox reaches the egress proxy, or an MCP server through it. ` +
      `Choose the egress mode none or bridge and no MCP servers, or another ${toOption("runtime")}.`,
  );
}
