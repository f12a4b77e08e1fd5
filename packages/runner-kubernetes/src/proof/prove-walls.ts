import { setTimeout as sleep } from "node:timers/promises";
import { BudgieError, formatOption } from "@budgie/core";
import { PROXY_PORT } from "../requests/index.ts";
import { judgeWalls, type Breach, type Target, type Wall } from "./judge-walls.ts";
import { parseProbeReport, type ProbeReport } from "./probe-report.ts";

/** The Pod to prove, and what is known of its cluster. */
export type Proving = {
  readonly targets: readonly Target[];
  /** Runs `hold probe` with targets, as a process of `hold`, and resolves to what it prints. Rejects after a limit of its own */
  readonly probe: (targets: readonly string[], jail: "jailed" | "free") => Promise<string>;
  /** Attempts from a place that the policy leaves alone; default none */
  readonly control?: ProbeReport | undefined;
  /** Walls that the user does without */
  readonly accepted: readonly Wall[];
  /** Time between two rounds after a breach; default 1 s */
  readonly pauseMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** The address to which the jail lets a process connect: if that fails, the probe itself does not work. */
const OWN = `tcp:127.0.0.1:${PROXY_PORT}`;
const ENOUGH_ROUNDS = 2;
// Some clusters enforce a policy only 20 s after a Pod's start. A jail is there from the first instruction.
const MOST_BREACHED: Readonly<Record<Wall, number>> = { policy: 25, "own-node": 25, jail: 2 };
const PAUSE_MS = 1000;

/**
 * Resolves to the walls that the Pod lacks and the user accepted, once every other has held in two rounds of attempts after each other. Rejects
 * with `RUNNER_UNAVAILABLE` if the jail did not in two rounds, or another in 25, or if policy and jail are both missing: then nothing confines
 * the agent.
 */
export async function proveWalls(proving: Proving): Promise<readonly Breach[]> {
  const { accepted, pauseMs = PAUSE_MS, signal, targets } = proving;
  let held = 0;
  for (let breached = 0; ;) {
    // One process at a time runs in a Pod.
    const jailed = await attempt(proving, "jailed");
    const free = await attempt(proving, "free");
    const breaches = judgeWalls(targets, { jailed, free, control: proving.control });
    const isEnough = !hasNone(breaches) && breaches.every(({ wall }) => accepted.includes(wall));
    held = isEnough ? held + 1 : 0;
    if (held === ENOUGH_ROUNDS) return breaches;
    if (isEnough) continue;
    breached += 1;
    if (breached >= findMost(breaches, accepted)) throw openError(breaches);
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}

/** Returns the number of breached rounds after which no other outcome is to be expected. */
function findMost(breaches: readonly Breach[], accepted: readonly Wall[]): number {
  const open = breaches.filter(({ wall }) => !accepted.includes(wall));
  return Math.min(MOST_BREACHED.policy, ...open.map(({ wall }) => MOST_BREACHED[wall]));
}

async function attempt({ probe, signal, targets }: Proving, jail: "jailed" | "free"): Promise<ProbeReport> {
  if (signal?.aborted === true) throw cancelledError();
  const asked = [OWN, ...targets.map(({ at }) => at)];
  const report = parseProbeReport(await probe(asked, jail), asked);
  const own = report.get(OWN);
  if (own !== "connected") throw deafError(own);
  return report;
}

function cancelledError(): BudgieError {
  return new BudgieError("CANCELLED", "The turn was cancelled before its Pod's network was proven.");
}

/** Returns true if neither the policy nor the jail held. */
function hasNone(breaches: readonly Breach[]): boolean {
  return (["policy", "jail"] as const).every((wall) => breaches.some((breach) => breach.wall === wall));
}

/** Returns the error of a Pod with breaches that are not accepted. */
export function openError(breaches: readonly Breach[]): BudgieError {
  const walls = [...new Set(breaches.map(({ wall }) => wall))];
  const advice = hasNone(breaches)
    ? "Nothing else confines an agent there, so no agent was started. Apply a policy that denies everything, on nodes with Linux 6.7 or later."
    : `No agent was started. Mend that, or accept it with ${formatOption("acceptWeaker")} ${walls.join()}.`;
  return new BudgieError("RUNNER_UNAVAILABLE", `In the Pod, ${breaches.map(({ text }) => text).join("; ")}. ${advice}`);
}

function deafError(outcome: string | undefined): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The probe of the Pod's network could not reach its own sidecar (${OWN}: ${outcome}), so its other attempts show nothing. Try again.`,
  );
}
