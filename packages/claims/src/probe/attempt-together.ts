import { isDeepStrictEqual } from "node:util";
import type { Lab } from "../lab/lab.ts";
import type { Claim, PreparedProbe, Probe, Verdict } from "./claim.ts";

const MS_EACH = 15_000;
/** A program that hangs keeps those after it waiting, which have turns of their own then. */
const MOST_MS = 240_000;
/** The kernel takes 128 KiB in one argument of a program. */
const MOST_BYTES = 100 * 1024;

type Prepared = PreparedProbe & { readonly probe: Probe; readonly line: string };

/**
 * Runs the programs of claims' probes one after the other in as few turns as can be. Each claim has a directory for those of its probes that
 * make one. Resolves to the verdicts, without those of probes that could not be prepared or gave none, which need turns of their own; if a
 * turn fails, all of its do.
 */
export async function attemptTogether(
  lab: Lab,
  claims: readonly Pick<Claim, "probes">[],
): Promise<ReadonlyMap<Probe, Verdict>> {
  const prepared: Prepared[] = [];
  for (const { probes } of claims) prepared.push(...(await prepareAll(lab, probes)));
  const verdicts = new Map<Probe, Verdict>();
  for (const turn of toTurns(prepared))
    for (const [probe, verdict] of await runTogether(lab, turn)) verdicts.set(probe, verdict);
  return verdicts;
}

async function prepareAll(lab: Lab, probes: readonly Probe[]): Promise<readonly Prepared[]> {
  const prepared: Prepared[] = [];
  let directory: Promise<string> | undefined;
  const shared: Lab = { ...lab, makeDirectory: () => (directory ??= lab.makeDirectory()) };
  for (const probe of probes) {
    const one = await probe.prepare?.(shared).catch(() => undefined);
    if (one !== undefined) prepared.push({ ...one, probe, line: `${one.argv.map(quote).join(" ")}\n` });
  }
  return prepared;
}

/** Divides probes among turns: those of a turn have the same options, and their programs fit into one argument. */
function toTurns(prepared: readonly Prepared[]): readonly (readonly Prepared[])[] {
  const turns: { readonly probes: Prepared[]; bytes: number }[] = [];
  for (const one of prepared) {
    const bytes = Buffer.byteLength(one.line);
    const fits = (turn: (typeof turns)[number]): boolean =>
      turn.bytes + bytes <= MOST_BYTES && isDeepStrictEqual(turn.probes[0]?.options, one.options);
    const turn = turns.find(fits);
    if (turn === undefined) turns.push({ probes: [one], bytes });
    else {
      turn.probes.push(one);
      turn.bytes += bytes;
    }
  }
  return turns.map(({ probes }) => probes);
}

async function runTogether(lab: Lab, turn: readonly Prepared[]): Promise<readonly (readonly [Probe, Verdict])[]> {
  const script = turn.map(({ line }) => line).join("");
  const limitMs = Math.min(MS_EACH * turn.length, MOST_MS);
  const ran = await lab.run(["/bin/sh", "-c", script], { ...turn[0]?.options, limitMs }).catch(() => undefined);
  if (ran === undefined) return [];
  const verdicts = turn.map(({ probe, read }) => [probe, read(ran)] as const);
  return verdicts.filter(([, { outcome }]) => outcome !== "untried");
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
