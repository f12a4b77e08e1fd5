import pLimit from "p-limit";
import type { Claim, Probe, Verdict, Protection } from "./probe/claim.ts";
import { CLAIMS } from "./claims.ts";
import { createLab, type Lab, type LabOptions } from "./lab/lab.ts";
import { NO_ENGINE } from "./lab/target.ts";
import { attemptTogether } from "./probe/attempt-together.ts";
import { untried } from "./probe/verdicts.ts";

export type ProveOptions = LabOptions & {
  /** Defaults to all claims */
  readonly claims?: readonly Claim[];
  /** Called with each claim once all its probes have run */
  readonly onResult?: (result: ClaimResult) => void;
};

/** The verdicts on a claim's probes. */
export type ClaimResult = {
  readonly id: string;
  readonly promise: string;
  readonly protections: readonly Protection[];
  readonly probes: readonly { readonly name: string; readonly verdict: Verdict }[];
};

// Enough for a probe with several turns on a busy machine.
const PROBE_LIMIT_MS = 240_000;

// Probes spend most of their time waiting for the engine.
const AT_ONCE = 4;

type Verdicts = Awaited<ReturnType<typeof attemptTogether>>;

const ABORTED = untried("aborted");

/**
 * Runs the probes of all claims under the real security profile, against a fake home in a temporary folder, and removes
 * everything it created. Rejects like the target if it cannot create its runner. After an abort, rejects once all is removed.
 */
export async function prove({ claims = CLAIMS, onResult, ...options }: ProveOptions): Promise<readonly ClaimResult[]> {
  await using lab = await createLab(options);
  const limit = pLimit(AT_ONCE);
  const together = shareTurns(claims, (group) =>
    limit(async () => (options.signal?.aborted ? new Map() : attemptTogether(lab, group))),
  );
  const proveClaim = async (claim: Claim): Promise<ClaimResult> => {
    const { id, isOfEngine = false, probes, promise, protections } = claim;
    const isMissing = isOfEngine && options.target.engine === undefined;
    const make = async (probe: Probe) => (isMissing ? untried(NO_ENGINE) : attempt(lab, probe));
    const shared = await together.get(claim);
    const made = probes.map(async (probe) => ({
      name: probe.name,
      verdict: shared?.get(probe) ?? (await limit(async () => (options.signal?.aborted ? ABORTED : make(probe)))),
    }));
    const result: ClaimResult = { id, promise, protections, probes: await Promise.all(made) };
    if (!options.signal?.aborted) onResult?.(result);
    return result;
  };
  // The lab is disposed of only after all probes, so that none starts anything in a lab that is being removed.
  const results = await Promise.all(claims.map(proveClaim));
  options.signal?.throwIfAborted();
  return results;
}

/** Divides the claims that share turns among as many groups as there are turns at once. */
function shareTurns(
  claims: readonly Claim[],
  run: (group: readonly Claim[]) => Promise<Verdicts>,
): ReadonlyMap<Claim, Promise<Verdicts>> {
  const sharing = claims.filter(({ sharesTurn = false }) => sharesTurn);
  const groups = Array.from({ length: AT_ONCE }, (_, at) => sharing.filter((_claim, index) => index % AT_ONCE === at));
  return new Map(
    groups.flatMap((group) => {
      const verdicts = run(group);
      return group.map((claim) => [claim, verdicts] as const);
    }),
  );
}

/**
 * Runs one probe, and once more if its attempt fails, which says nothing about the claim. Resolves to `untried` if it fails again or gives no
 * verdict within 240 s.
 */
export async function attempt(lab: Lab, probe: Probe): Promise<Verdict> {
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<Verdict>((resolve) => {
    const detail = `no verdict within ${PROBE_LIMIT_MS / 1000} s`;
    timer = setTimeout(() => resolve({ outcome: "untried", detail }), PROBE_LIMIT_MS);
  });
  const again = (error: unknown): Promise<Verdict> => {
    if (isOver) throw error;
    return probe.attempt(lab);
  };
  try {
    return await Promise.race([probe.attempt(lab).catch(again), limit]);
  } catch (error) {
    return { outcome: "untried", detail: error instanceof Error ? error.message : String(error) };
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}
