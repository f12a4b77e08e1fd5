import type { Engine } from "./engine.ts";

/** Where the egress proxy runs: in budgie's own process, or in a container where an engine cannot mount a socket of the host. */
export type ProxyPlacement = "host" | "container";

/** What is known of this machine. */
export type Machine = { readonly platform: string; readonly kernel: string };

type EnginePlace = Pick<Engine, "endpoint" | "kernel" | "system">;

/** Tells whether an engine's containers can reach a socket of this machine. */
export function toProxyPlacement(engine: EnginePlace, machine: Machine): ProxyPlacement {
  return isOnThisMachine(engine, machine) ? "host" : "container";
}

/** Tells whether an engine's containers share this machine's kernel and its files, as far as it says. */
export function isOnThisMachine({ endpoint, kernel, system }: EnginePlace, machine: Machine): boolean {
  const isHere = "socketPath" in endpoint.address && machine.platform === "linux" && machine.kernel === kernel;
  return isHere && system !== "Docker Desktop";
}
