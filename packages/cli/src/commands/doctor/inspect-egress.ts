import type { AllowedHost, EgressPolicy } from "@budgie/core";
import type { EgressAnswer, LabOptions } from "@budgie/claims";
import type { SandboxFacts } from "@budgie/runner-docker";
import type { Host } from "@budgie/mcp-server";
import { judgeCertificates } from "../../certificates/judge-certificates.ts";
import type { Finding } from "../findings/finding.ts";

/**
 * Starts sandboxes to test what they reach, and looks at the certificates of named hosts. Starts none without an engine, an image and the
 * chosen runtime.
 */
export async function inspectEgress(
  facts: SandboxFacts,
  policy: EgressPolicy,
  { caFile, callsKiro, host, lab }: Trial,
): Promise<readonly Finding[]> {
  if (policy.mode === "bridge" && canStart(facts))
    return [makeFinding("note", "--egress bridge is unsafe: nobody watches or refuses anything")];
  const [tried, remarks] = await Promise.all([
    canStart(facts) ? trySandbox(policy, listNamed(policy)[0], lab) : [],
    inspectCertificates(facts, policy, { caFile, callsKiro: callsKiro && canStart(facts), host }),
  ]);
  return [...tried, ...remarks];
}

/** Compares the certificates of the hosts that the user names, and of one of Kiro's if it is called, with what sandboxes trust. */
export async function inspectCertificates(
  { print }: Pick<SandboxFacts, "print">,
  policy: EgressPolicy,
  { caFile, callsKiro, host }: Omit<Trial, "lab">,
): Promise<readonly Finding[]> {
  const remarks = await judgeCertificates(
    [...(callsKiro ? findKiros(policy) : []), ...listNamed(policy)],
    { policy, caFile, print },
    host,
  );
  return remarks.map((remark): Finding => ({ ...remark, what: "egress" }));
}

/** Lists the hosts that the user names. Those of a preset were not named, so they are not contacted. */
function listNamed({ hosts, mode }: EgressPolicy): readonly AllowedHost[] {
  if (mode !== "allowlist" && mode !== "open") return [];
  return hosts.filter(({ from, host: name }) => !from.startsWith("preset ") && !name.startsWith("*."));
}

/** Finds the first of Kiro's hosts: whatever inspects one inspects all. */
function findKiros({ hosts }: EgressPolicy): readonly AllowedHost[] {
  return hosts.filter(({ from, host }) => from.startsWith("preset kiro") && !host.startsWith("*.")).slice(0, 1);
}

type Trial = {
  /** True if turns call Kiro, so that one of its hosts may be contacted before */
  readonly callsKiro: boolean;
  /** The certificates of `--ca-file` */
  readonly caFile: string | undefined;
  readonly lab: LabOptions;
  readonly host: Host;
};

async function trySandbox(
  policy: EgressPolicy,
  allowed: AllowedHost | undefined,
  options: LabOptions,
): Promise<readonly Finding[]> {
  const { tryEgress } = await import("@budgie/claims");
  try {
    const answers = await tryEgress(options, { policy, allowed });
    return [...(allowed === undefined ? [makeUntried(policy)] : []), ...answers.map(makeAnswerFinding)];
  } catch (error) {
    if (options.signal?.aborted) throw error;
    return [makeFinding("failed", error instanceof Error ? error.message : String(error))];
  }
}

function canStart({ engine, image, runtime }: SandboxFacts): boolean {
  return engine.ok && image.ok && runtime?.ok !== false;
}

function makeUntried({ hosts, mode }: EgressPolicy): Finding {
  if (mode === "none") return makeFinding("ok", "nothing is allowed (--egress none)");
  const example = hosts.find(({ host }) => !host.startsWith("*."))?.host ?? "NAME";
  const text = `no allowed host was tried: a sandbox contacts only one that you name, such as with "budgie doctor --sandbox --allow-host ${example}"`;
  return makeFinding("note", text);
}

const STATES: Readonly<Record<EgressAnswer["state"], Finding["state"]>> = {
  "as-it-should": "ok",
  broken: "failed",
  untried: "note",
};

function makeAnswerFinding({ state, text }: EgressAnswer): Finding {
  return makeFinding(STATES[state], text);
}

function makeFinding(state: Finding["state"], text: string): Finding {
  return { state, what: "egress", text };
}
