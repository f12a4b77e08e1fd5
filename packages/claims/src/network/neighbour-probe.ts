import { toProxyProbe, plain, tunnel } from "./proxy-attack.ts";
import type { Probe } from "../probe/claim.ts";
import { NEIGHBOUR_NAME } from "../lab/lab-network.ts";

const asking = toProxyProbe({
  name: `follow ${NEIGHBOUR_NAME}`,
  toAttacks: (port) => [tunnel(`${NEIGHBOUR_NAME}:${port}`), plain(`${NEIGHBOUR_NAME}:${port}`)],
});

/** Requests a name that resolves to neighbours, which do not answer. It got through if the proxy tried to connect. */
export const NEIGHBOUR_PROBE: Probe = {
  name: asking.name,
  async attempt(lab) {
    const { detail, outcome } = await asking.attempt(lab);
    if (outcome !== "held" || detail.includes("no public address")) return { detail, outcome };
    const isAlone = detail.includes("could not be resolved");
    return { detail, outcome: isAlone ? "untried" : "got-through" };
  },
};
