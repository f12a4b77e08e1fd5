import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Claim, Verdict, Protection } from "../../src/probe/claim.ts";
import type { ServeAgents } from "../../src/lab/lab-servers.ts";
import { createDockerTarget, type DockerTargetOptions } from "../../src/docker/docker-target.ts";
import { createLab, type Lab, type LabOptions } from "../../src/lab/lab.ts";
import { attemptTogether } from "../../src/probe/attempt-together.ts";
import { attempt, prove } from "../../src/prove.ts";
import { BASE_IMAGE } from "../../../runner-docker/test/helpers/docker-place.ts";
import { createServeInLab } from "../../../cli/src/commands/doctor/prove-claims.ts";
import { toSilentHost } from "../../../cli/test/helpers/to-silent-host.ts";
import { isMoot } from "../../src/probe/verdicts.ts";
import { CONTAINER_REMOVALS, type Removals } from "./remove-protections.ts";
import { createRewritingEngine } from "./rewriting-engine.ts";

/**
 * Runs a claim's probes without its protections, if they cannot be removed from the container's options. Resolves to a verdict
 * for each probe, by its name.
 */
export type Control = (claim: Claim) => Promise<Readonly<Record<string, Verdict>>>;

/** The negative controls of a group of claims. */
export type ClaimSuite = {
  /** Removals of protections other than the engine's, and replacements for removals of the engine's */
  readonly removals?: Removals;
  /** Controls by the claim's id */
  readonly controls?: Readonly<Record<string, Control>>;
};

/** Gives agents their MCP servers, as budgie does. */
export const SERVE_AGENTS: ServeAgents = createServeInLab(toSilentHost({ home: "/", cwd: "/" }));

/** The engine and the image of the tests. */
export const ENGINE: DockerTargetOptions = {
  image: BASE_IMAGE,
  home: process.env["HOME"] ?? "/root",
  hostEnv: process.env,
};

export const OPTIONS = { target: createDockerTarget(ENGINE), serveAgents: SERVE_AGENTS };

/** Returns the options of a lab behind another engine. */
export function behind({ hostEnv }: Pick<DockerTargetOptions, "hostEnv">): Pick<LabOptions, "target"> {
  return { target: createDockerTarget({ ...ENGINE, hostEnv }) };
}

/** Tests that every probe of the claims is held, and that it gets through once exactly the claim's protections are removed. */
export function describeClaims(claims: readonly Claim[], { controls = {}, removals = {} }: ClaimSuite = {}): void {
  const verdicts: Verdict[] = [];
  let lab: Lab;
  beforeAll(async () => void (lab = await createLab(OPTIONS)));
  afterAll(async () => {
    await lab[Symbol.asyncDispose]();
    console.log(toSummary(verdicts));
  });

  for (const claim of claims) {
    const { id, probes, protections, sharesTurn = false } = claim;
    describe.concurrent(id, () => {
      let together: ReturnType<typeof attemptTogether> | undefined;
      for (const probe of probes) {
        it(`holds when an agent tries to ${probe.name}`, async () => {
          together ??= attemptTogether(lab, sharesTurn ? [claim] : []);
          const verdict = (await together).get(probe) ?? (await attempt(lab, probe));
          verdicts.push(verdict);

          expect(isMoot(verdict) ? "held" : verdict.outcome, verdict.detail).toBe("held");
        });
      }

      const control = controls[id] ?? (() => proveWithout(claim, { ...CONTAINER_REMOVALS, ...removals }));
      // A probe that has to win a race may lose it on a loaded machine, and then tries again.
      const options = { retry: 2, timeout: 120_000 + 10_000 * probes.length };
      it(`lets every probe through without ${protections.join(", ")}`, options, async () => {
        const outcomes = await control(claim);

        const seen = probes.map(({ name }) => [name, toOutcome(outcomes[name])]);
        expect(seen).toEqual(probes.map(({ name }) => [name, "got through"]));
      });
    });
  }
}

/** Runs a claim's probes with its protections removed by `removals`. */
export async function proveWithout(claim: Claim, removals: Removals): Promise<Readonly<Record<string, Verdict>>> {
  await using engine = await createRewritingEngine(async (body) => {
    for (const protection of claim.protections) await toRemoval(protection, removals)(body);
  });
  // An attack that gets through may get into another's way, so each has a turn of its own.
  const claims = [{ ...claim, sharesTurn: false }];
  const [result] = await prove({ ...OPTIONS, ...behind(engine), claims });
  return Object.fromEntries(result?.probes.map(({ name, verdict }) => [name, verdict]) ?? []);
}

function toRemoval(protection: Protection, removals: Removals) {
  // The rewriting engine removes this one by itself: it hides the PIDs that a look at the mounts needs.
  if (protection === "verified-mounts") return () => undefined;
  const remove = removals[protection];
  if (remove === undefined)
    throw new Error(`Nothing here removes the protection "${protection}": add a removal or a control.`);
  return remove;
}

function toOutcome(verdict: Verdict | undefined): string {
  if (verdict === undefined) return "not made";
  return verdict.outcome === "got-through" || isMoot(verdict) ? "got through" : `${verdict.outcome}: ${verdict.detail}`;
}

function toSummary(verdicts: readonly Verdict[]): string {
  const through = verdicts.filter(({ outcome }) => outcome === "got-through").length;
  const moot = verdicts.filter(isMoot).length;
  return `${verdicts.length} probes ran, ${through} got through${moot === 0 ? "" : `; ${moot} found nothing to attack`}.`;
}
