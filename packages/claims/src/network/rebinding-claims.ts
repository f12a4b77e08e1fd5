import { toProxyProbe, plain, tunnel, type Attack } from "./proxy-attack.ts";
import type { Claim, Probe } from "../probe/claim.ts";
import { toClientHello } from "./client-hello.ts";
import type { LabNetwork } from "../lab/lab-network.ts";

const ROUNDS = 4;

export const REBINDING_CLAIMS: readonly Claim[] = [
  {
    id: "no-rebinding",
    promise: "The proxy dials the address that it checked, whatever the name resolves to a moment later.",
    protections: ["egress-proxy"],
    probes: [
      toProbe("have a name lead to the loopback once it was checked", "onLoopback"),
      toProbe("have one lead to this machine's other addresses, the engine's gateway among them", "onMachine"),
    ],
  },
];

/** Asks for the name again and again. Who listens at its end tells whether anybody came, whatever the agent saw of it. */
function toProbe(name: string, where: keyof LabNetwork["traps"]): Probe {
  const asking = toProxyProbe({ name, toAttacks: (_, { network }) => toAttacks(network.traps[where]) });
  return {
    name,
    async attempt(lab) {
      const trap = lab.network.traps[where];
      const [before, luredBefore] = [trap.connections(), trap.lures()];
      const verdict = await asking.attempt(lab);
      const [came, lured] = [trap.connections() - before, trap.lures() - luredBefore];
      if (verdict.outcome === "got-through") return verdict;
      if (came > 0) return { outcome: "got-through", detail: `${came} connections` };
      if (verdict.outcome === "untried") return verdict;
      if (lured === 0) return { outcome: "untried", detail: "the name was never checked" };
      return { outcome: "held", detail: `0 connections, ${lured} times that the name was public: ${verdict.detail}` };
    },
  };
}

/** In each round every way to ask meets both answers first. */
function toAttacks({ host, port }: { readonly host: string; readonly port: number }): readonly Attack[] {
  const authority = `${host}:${port}`;
  const [tls, http] = [tunnel(authority, toClientHello([host])), tunnel(authority)];
  return Array.from({ length: ROUNDS }, () => [tls, tls, plain(authority), plain(authority), http]).flat();
}
