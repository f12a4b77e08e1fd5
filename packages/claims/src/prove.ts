import pLimit from "p-limit";
import type { Claim, Probe, Verdict, Protection } from "./probe/claim.ts";
import { CLAIMS } from "./claims.ts";
import { createLab, type Lab, type LabOptions } from "./lab/lab.ts";

export type ProveOptions = LabOptions & {
  /** Default all */
  readonly claims?: readonly Claim[];
  /** Told of each claim once its probes were made */
  readonly onResult?: (result: ClaimResult) => void;
};

/** A claim after its probes were made. */
export type ClaimResult = {
  readonly id: string;
  readonly promise: string;
  readonly protections: readonly Protection[];
  readonly probes: readonly { readonly name: string; readonly verdict: Verdict }[];
};

// A probe with several turns, on a busy machine.
const PROBE_LIMIT_MS = 240_000;

// Most of a probe's time goes by in the engine, waiting.
const AT_ONCE = 4;

const ABORTED: Verdict = { outcome: "untried", detail: "aborted" };

/**
 * Makes every claim's probes in the real profile, against a host made up in a temporary folder, and removes all it made.
 * Rejects as the runner does where there is no engine or no image, and once all is removed if it was aborted.
 */
export async function prove({ claims = CLAIMS, onResult, ...options }: ProveOptions): Promise<readonly ClaimResult[]> {
  await using lab = await createLab(options);
  const limit = pLimit(AT_ONCE);
  const proveClaim = async ({ id, probes, promise, protections }: Claim): Promise<ClaimResult> => {
    const made = probes.map(async (probe) => ({
      name: probe.name,
      verdict: await limit(async () => (options.signal?.aborted ? ABORTED : attempt(lab, probe))),
    }));
    const result: ClaimResult = { id, promise, protections, probes: await Promise.all(made) };
    if (!options.signal?.aborted) onResult?.(result);
    return result;
  };
  // All of them end before the lab does, so that none starts anything in its ruins.
  const results = await Promise.all(claims.map(proveClaim));
  options.signal?.throwIfAborted();
  return results;
}

/** Makes one probe in bounded time. */
export async function attempt(lab: Lab, probe: Probe): Promise<Verdict> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<Verdict>((resolve) => {
    const detail = `no verdict within ${PROBE_LIMIT_MS / 1000} s`;
    timer = setTimeout(() => resolve({ outcome: "untried", detail }), PROBE_LIMIT_MS);
  });
  try {
    return await Promise.race([probe.attempt(lab), limit]);
  } catch (error) {
    return { outcome: "untried", detail: error instanceof Error ? error.message : String(error) };
  } finally {
    clearTimeout(timer);
  }
}
