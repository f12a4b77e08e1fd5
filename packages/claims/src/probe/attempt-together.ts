import type { Lab } from "../lab/lab.ts";
import type { PreparedProbe, Probe, Verdict } from "./claim.ts";

const SECONDS_EACH = 15;

/**
 * Runs the programs of probes one after the other in one turn. Resolves to the verdicts by the probes' names, without those of probes that
 * could not be prepared or gave none, which need turns of their own; if the turn fails, all do.
 */
export async function attemptTogether(lab: Lab, probes: readonly Probe[]): Promise<ReadonlyMap<string, Verdict>> {
  const prepared: (PreparedProbe & { readonly name: string })[] = [];
  for (const { name, prepare } of probes) {
    const one = await prepare?.(lab).catch(() => undefined);
    if (one !== undefined) prepared.push({ ...one, name });
  }
  if (prepared.length === 0) return new Map();
  const script = prepared.map(({ argv }) => `${argv.map(quote).join(" ")}\n`).join("");
  const limitMs = SECONDS_EACH * 1000 * prepared.length;
  const ran = await lab.run(["/bin/sh", "-c", script], { limitMs }).catch(() => undefined);
  if (ran === undefined) return new Map();
  const verdicts = prepared.map(({ name, read }) => [name, read(ran)] as const);
  return new Map(verdicts.filter(([, { outcome }]) => outcome !== "untried"));
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
