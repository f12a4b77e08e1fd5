import { makeProxyProbe, plain, tunnel, type Attack } from "./make-proxy-probe.ts";
import type { Claim, Probe } from "../probe/claim.ts";
import { buildClientHello } from "./build-client-hello.ts";
import type { LabNetwork } from "../lab/lab-network.ts";

const ROUNDS = 4;

export const REBINDING_CLAIMS: readonly Claim[] = [
  {
    id: "no-rebinding",
    promise: "The proxy connects to the address that it checked, whatever the name resolves to later.",
    protections: ["egress-proxy"],
    probes: [
      makeProbe("rebind a checked name to the loopback", "onLoopback"),
      makeProbe("rebind one to this machine's other addresses, including the engine's gateway", "onMachine"),
    ],
  },
];

/** Creates a probe that requests the name repeatedly. The trap's own count of connections decides, not the agent's view. */
function makeProbe(name: string, where: keyof LabNetwork["traps"]): Probe {
  const asking = makeProxyProbe({ name, toAttacks: (_, { network }) => planAttacks(network.traps[where]) });
  return {
    name,
    async attempt(lab) {
      const trap = lab.network.traps[where];
      const [before, publicBefore] = [trap.connections(), trap.publicAnswers()];
      const verdict = await asking.attempt(lab);
      const [connected, publicTimes] = [trap.connections() - before, trap.publicAnswers() - publicBefore];
      if (verdict.outcome === "got-through") return verdict;
      if (connected > 0) return { outcome: "got-through", detail: `${connected} connections` };
      if (verdict.outcome === "untried") return verdict;
      if (publicTimes === 0) return { outcome: "untried", detail: "the name was never looked up" };
      return {
        outcome: "held",
        detail: `0 connections, although the name was public ${publicTimes} times: ${verdict.detail}`,
      };
    },
  };
}

/** Returns rounds in which each kind of request gets both answers first. */
function planAttacks({ host, port }: { readonly host: string; readonly port: number }): readonly Attack[] {
  const authority = `${host}:${port}`;
  const [tls, http] = [tunnel(authority, buildClientHello([host])), tunnel(authority)];
  return Array.from({ length: ROUNDS }, () => [tls, tls, plain(authority), plain(authority), http]).flat();
}
