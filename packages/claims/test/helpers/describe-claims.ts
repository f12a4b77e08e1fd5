import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Claim, Verdict, Protection } from "../../src/probe/claim.ts";
import { createLab, type Lab } from "../../src/lab/lab.ts";
import { attempt, prove } from "../../src/prove.ts";
import { BASE_IMAGE } from "../../../runner-docker/test/helpers/docker-place.ts";
import { isMoot } from "../../src/probe/verdicts.ts";
import { CONTAINER_REMOVALS, type Removals } from "./remove-protections.ts";
import { createRewritingEngine } from "./rewriting-engine.ts";

/** Where protections cannot be taken out of the product, the same attack made without it: a verdict for each probe, by its name. */
export type Control = (claim: Claim) => Promise<Readonly<Record<string, Verdict>>>;

export type ClaimSuite = {
  /** For protections besides the engine's, or in place of them */
  readonly removals?: Removals;
  /** By the claim's id */
  readonly controls?: Readonly<Record<string, Control>>;
};

export const OPTIONS = { image: BASE_IMAGE, home: process.env["HOME"] ?? "/root", hostEnv: process.env };

/** Tests claims: every probe is held, and gets through once exactly the claim's protections are gone. */
export function describeClaims(claims: readonly Claim[], { controls = {}, removals = {} }: ClaimSuite = {}): void {
  const verdicts: Verdict[] = [];
  let lab: Lab;
  beforeAll(async () => void (lab = await createLab(OPTIONS)));
  afterAll(async () => {
    await lab[Symbol.asyncDispose]();
    console.log(toSummary(verdicts));
  });

  for (const claim of claims) {
    const { id, probes, protections } = claim;
    describe.concurrent(id, () => {
      for (const probe of probes) {
        it(`holds when an agent tries to ${probe.name}`, async () => {
          const verdict = await attempt(lab, probe);
          verdicts.push(verdict);

          expect(isMoot(verdict) ? "held" : verdict.outcome, verdict.detail).toBe("held");
        });
      }

      const control = controls[id] ?? (() => proveWithout(claim, { ...CONTAINER_REMOVALS, ...removals }));
      it(`lets every probe through without ${protections.join(", ")}`, async () => {
        const outcomes = await control(claim);

        const seen = probes.map(({ name }) => [name, toOutcome(outcomes[name])]);
        expect(seen).toEqual(probes.map(({ name }) => [name, "got through"]));
      });
    });
  }
}

/** Makes a claim's probes with its protections taken away as it is said here. */
export async function proveWithout(claim: Claim, removals: Removals): Promise<Readonly<Record<string, Verdict>>> {
  await using engine = await createRewritingEngine(async (body) => {
    for (const protection of claim.protections) await toRemoval(protection, removals)(body);
  });
  const [result] = await prove({ ...OPTIONS, hostEnv: engine.hostEnv, claims: [claim] });
  return Object.fromEntries(result?.probes.map(({ name, verdict }) => [name, verdict]) ?? []);
}

function toRemoval(protection: Protection, removals: Removals) {
  // The engine that removes the other protections allows no look into a container.
  if (protection === "verified-mounts") return () => undefined;
  const remove = removals[protection];
  if (remove === undefined)
    throw new Error(`Nothing here takes the protection "${protection}" away: give a removal or a control.`);
  return remove;
}

function toOutcome(verdict: Verdict | undefined): string {
  if (verdict === undefined) return "not made";
  return verdict.outcome === "got-through" || isMoot(verdict) ? "got through" : `${verdict.outcome}: ${verdict.detail}`;
}

function toSummary(verdicts: readonly Verdict[]): string {
  const through = verdicts.filter(({ outcome }) => outcome === "got-through").length;
  const moot = verdicts.filter(isMoot).length;
  return `${verdicts.length} probes ran, ${through} got through${moot === 0 ? "" : `; ${moot} found nothing to attack in this kernel`}.`;
}
