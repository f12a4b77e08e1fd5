import { attempt } from "../../src/prove.ts";
import { createLab, type Lab, type LabOptions } from "../../src/lab/lab.ts";
import type { Verdict } from "../../src/probe/claim.ts";
import { OPTIONS, type Control } from "./describe-claims.ts";

/** Creates a control that runs the same probes in a lab, some parts of which lack budgie's protections. */
export function inCarelessLab(
  toCareless: (lab: Lab) => Partial<Lab> | Promise<Partial<Lab>>,
  options: Partial<LabOptions> = {},
): Control {
  return async ({ probes }) => {
    await using lab = await createLab({ ...OPTIONS, ...options });
    const careless = { ...lab, ...(await toCareless(lab)) };
    const verdicts: Record<string, Verdict> = {};
    // One at a time, since some have to win a race.
    for (const probe of probes) verdicts[probe.name] = await attempt(careless, probe);
    return verdicts;
  };
}
