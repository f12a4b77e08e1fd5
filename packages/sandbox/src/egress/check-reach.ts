import { BudgieError, formatOption } from "@budgie/core";

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
      `Choose the egress mode none or bridge and no MCP servers, or another ${formatOption("runtime")}.`,
  );
}
