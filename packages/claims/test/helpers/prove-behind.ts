import pLimit from "p-limit";
import type { EgressProxy } from "@budgie/egress";
import { createLab } from "../../src/lab/lab.ts";
import type { LabNetwork } from "../../src/lab/lab-network.ts";
import { attempt } from "../../src/prove.ts";
import { OPTIONS, type Control } from "./describe-claims.ts";

/** Creates a control that runs a claim's probes behind a proxy other than budgie's. Each attack of a probe must get through. */
export function proveBehind(createProxy: (network: LabNetwork) => EgressProxy): Control {
  return async ({ probes }) => {
    await using lab = await createLab(OPTIONS, { startProxy: async (network) => createProxy(network) });
    const limit = pLimit(4);
    const made = probes.map((probe) =>
      limit(async () => {
        const verdict = await attempt(lab, probe);
        const isPartly = /^\d+ of /.test(verdict.detail);
        return [probe.name, isPartly ? { ...verdict, outcome: "untried" as const } : verdict] as const;
      }),
    );
    return Object.fromEntries(await Promise.all(made));
  };
}
