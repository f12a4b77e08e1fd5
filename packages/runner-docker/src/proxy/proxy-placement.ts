import type { Engine } from "../engine/engine.ts";

/** Where the egress proxy runs: in budgie's own process, or in a container where an engine cannot mount a socket of the host. */
export type ProxyPlacement = "host" | "container";

/** What is known of this machine. */
export type Machine = { readonly platform: string; readonly kernel: string };

/** Tells whether an engine's containers can reach a socket of this machine: only if they share its kernel and its files. */
export function toProxyPlacement(
  { endpoint, kernel, system }: Pick<Engine, "endpoint" | "kernel" | "system">,
  machine: Machine,
): ProxyPlacement {
  const isHere = "socketPath" in endpoint.address && machine.platform === "linux" && machine.kernel === kernel;
  return isHere && system !== "Docker Desktop" ? "host" : "container";
}
