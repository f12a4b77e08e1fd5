import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { CLAIMS } from "@budgie/claims";
import { findClusterLack } from "@budgie/testkit";
import { startRunnerCluster, type RunnerCluster } from "../../runner-kubernetes/test/runner-cluster.ts";
import { createLab, type Lab } from "../src/lab/lab.ts";
import type { Claim, Probe, Verdict } from "../src/probe/claim.ts";
import { attemptTogether } from "../src/probe/attempt-together.ts";
import { isMoot } from "../src/probe/verdicts.ts";
import { attempt } from "../src/prove.ts";
import { createClusterTarget } from "./helpers/create-cluster-target.ts";
import { createControls, createPlainPods, listenOnNode, type Controls } from "./helpers/create-controls.ts";
import { ON_CLUSTER } from "./helpers/on-cluster.ts";

const lack = findClusterLack();
// The usual reporter does not print titles of what it skips.
if (lack !== undefined) process.stderr.write(`Skipped: ${lack}\n`);

const claims = CLAIMS.filter(({ id }) => id in ON_CLUSTER);

describe.skipIf(lack !== undefined)("on a cluster", () => {
  let cluster: RunnerCluster;
  let lab: Lab;
  let controls: Controls;

  beforeAll(async () => {
    cluster = await startRunnerCluster("claims");
    // Agents are shown files of a home at their own paths unless it is in a folder that a Pod has itself.
    vi.stubEnv("TMPDIR", "/var/tmp");
    lab = await createLab({ target: createClusterTarget(cluster, (name) => listenOnNode(open, name)) });
    const open = createPlainPods(cluster, lab);
    controls = createControls({ cluster, lab, open });
    vi.stubEnv("HOME", lab.host.path);
  }, 300_000);
  afterAll(async () => {
    vi.unstubAllEnvs();
    await lab?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
    // The lab closes some forty runners one after the other, each with a Lease.
  }, 600_000);

  describe.each(claims.map((claim) => [claim.id, claim] as const))("%s", (id, claim) => {
    const { alone = [], control = "plain", moot = [], open = [] } = ON_CLUSTER[id] ?? {};
    const options = { timeout: 120_000 + 30_000 * claim.probes.length };

    it(open.length === 0 ? "holds" : `holds, but for ${open.length} of its attacks`, options, async () => {
      const seen = await makeEach(claim, lab, await attemptTogether(lab, claim.sharesTurn ? [claim] : []));

      const toExpected = (name: string) =>
        open.includes(name) ? "got-through" : moot.includes(name) ? "untried" : "held";
      expect(toOutcomes(seen, "held")).toEqual(toRows(seen, toExpected));
    });

    // A loaded node may lose a race that an attack has to win, and `kubectl exec` the end of an output (kubernetes#124571).
    it("lets every attack through without budgie", { ...options, retry: 2 }, async () => {
      const careless = { ...lab, ...(await controls[control]()) };
      // An attack that gets through may get into the way of those after it, which have a turn of their own then.
      const together = keepThrough(await attemptTogether(careless, [claim]));
      const seen = await makeEach(claim, careless, together);

      const toExpected = (name: string) => (alone.includes(name) ? "held" : "got-through");
      expect(toOutcomes(seen, "got-through")).toEqual(toRows(seen, toExpected));
    });
  });
});

type Seen = readonly (readonly [name: string, verdict: Verdict])[];

type Verdicts = ReadonlyMap<Probe, Verdict>;

/** Makes the attacks of a claim that have no verdict yet, one after the other, since a Pod runs one process. */
async function makeEach({ probes }: Claim, lab: Lab, made: Verdicts): Promise<Seen> {
  const seen: [string, Verdict][] = [];
  for (const probe of probes) seen.push([probe.name, made.get(probe) ?? (await attempt(lab, probe))]);
  return seen;
}

/** Returns the verdicts on attacks that got through. */
function keepThrough(verdicts: Verdicts): Verdicts {
  return new Map([...verdicts].filter(([, { outcome }]) => outcome === "got-through"));
}

/** Returns the outcomes. What found nothing to attack on this kernel has the expected one. */
function toOutcomes(seen: Seen, expected: Verdict["outcome"]) {
  return seen.map(([name, verdict]) => {
    // Several attacks of one probe must all get through.
    const isPartly = verdict.outcome === "got-through" && /^\d+ of /.test(verdict.detail);
    return [name, isMoot(verdict) ? expected : isPartly ? verdict.detail : verdict.outcome, verdict.detail];
  });
}

/** Returns what is expected, beside the same details, so that a failure shows them. */
function toRows(seen: Seen, toExpected: (name: string) => string) {
  return seen.map(([name, { detail }]) => [name, toExpected(name), detail]);
}
