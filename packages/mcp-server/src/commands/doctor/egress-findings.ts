import type { EgressPolicy } from "@budgie/core";
import type { EgressAnswer, LabOptions } from "@budgie/claims";
import type { SandboxFacts } from "@budgie/runner-docker";
import type { Finding } from "./finding.ts";

/** Starts sandboxes to test what they reach. Returns nothing without an engine, an image and the chosen runtime. */
export async function inspectEgress(
  facts: SandboxFacts,
  policy: EgressPolicy,
  options: LabOptions,
): Promise<readonly Finding[]> {
  if (!canStart(facts)) return [];
  if (policy.mode === "bridge")
    return [toFinding("note", "--egress bridge is unsafe: nobody watches or refuses anything")];
  // The user did not name the hosts of a preset, so they are not contacted.
  const named = policy.hosts.filter(({ from }) => !from.startsWith("preset "));
  const allowed = policy.mode === "none" ? undefined : named.find(({ host }) => !host.startsWith("*."));
  const { tryEgress } = await import("@budgie/claims");
  try {
    const answers = await tryEgress(options, { policy, allowed });
    return [...(allowed === undefined ? [toUntried(policy)] : []), ...answers.map(toAnswerFinding)];
  } catch (error) {
    if (options.signal?.aborted) throw error;
    return [toFinding("failed", error instanceof Error ? error.message : String(error))];
  }
}

function canStart({ engine, image, runtime }: SandboxFacts): boolean {
  return engine.ok && image.ok && runtime?.ok !== false;
}

function toUntried({ hosts, mode }: EgressPolicy): Finding {
  if (mode === "none") return toFinding("ok", "nothing is allowed (--egress none)");
  const example = hosts.find(({ host }) => !host.startsWith("*."))?.host ?? "NAME";
  const text = `no allowed host was tried: only one that you name is contacted, such as with --allow-host ${example}`;
  return toFinding("note", text);
}

const STATES: Readonly<Record<EgressAnswer["state"], Finding["state"]>> = {
  "as-it-should": "ok",
  broken: "failed",
  untried: "note",
};

function toAnswerFinding({ state, text }: EgressAnswer): Finding {
  return toFinding(STATES[state], text);
}

function toFinding(state: Finding["state"], text: string): Finding {
  return { state, what: "egress", text };
}
