import type { ClaimResult, LabOptions } from "@budgie/claims";
import type { SandboxFacts } from "@budgie/runner-docker";
import { withFlags } from "../../terminal/with-flags.ts";
import type { Finding } from "./finding.ts";
import type { Host } from "../../process/host.ts";
import { toProof, type Proof } from "./proof.ts";
import { createServeInLab } from "./serve-in-lab.ts";

/** Runs the claims' probes and reports progress on stderr. Resolves to a finding if they cannot run. */
export async function proveClaims({ engine, image }: SandboxFacts, options: LabOptions, host: Host): Promise<Outcome> {
  if (!engine.ok) return toSkipped("there is no engine to prove them on");
  if (!image.ok) return toSkipped("there is no image to prove them with");
  const { CLAIMS, isMoot, prove } = await import("@budgie/claims");
  let count = 0;
  const onResult = ({ id, probes }: ClaimResult): void => {
    const held = probes.filter(({ verdict }) => verdict.outcome === "held").length;
    host.report(`${++count} of ${CLAIMS.length}: ${id}, ${held} of ${probes.length} held`);
  };
  try {
    return {
      problems: [],
      proof: toProof(await prove({ ...options, serveAgents: createServeInLab(host), onResult }), isMoot),
    };
  } catch (error) {
    if (options.signal?.aborted) throw error;
    return toSkipped(withFlags(error instanceof Error ? error.message : String(error)));
  }
}

type Outcome = { readonly problems: readonly Finding[]; readonly proof: Proof | undefined };

function toSkipped(why: string): Outcome {
  return { problems: [{ state: "failed", what: "claims", text: `not proven: ${why}` }], proof: undefined };
}
