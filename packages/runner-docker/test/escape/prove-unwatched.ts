import pLimit from "p-limit";
import type { Claim, Verdict } from "@budgie/runner-docker";
import { createLab } from "../../src/claims/lab.ts";
import { attempt } from "../../src/claims/prove.ts";
import { OPTIONS } from "./describe-claims.ts";
import { createUnwatchedProxy } from "./unwatched-proxy.ts";

/** Makes a claim's probes behind a proxy without a policy. Of a probe's several attacks each must get through. */
export async function proveUnwatched({ probes }: Claim): Promise<Readonly<Record<string, Verdict>>> {
  await using lab = await createLab(OPTIONS, { startProxy: async (network) => createUnwatchedProxy(network) });
  const limit = pLimit(4);
  const made = probes.map((probe) =>
    limit(async () => {
      const verdict = await attempt(lab, probe);
      const isPartly = /^\d+ of /.test(verdict.detail);
      return [probe.name, isPartly ? { ...verdict, outcome: "untried" as const } : verdict] as const;
    }),
  );
  return Object.fromEntries(await Promise.all(made));
}
