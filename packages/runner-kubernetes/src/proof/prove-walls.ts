import { setTimeout as sleep } from "node:timers/promises";
import { BudgieError, formatOption } from "@budgie/core";
import { PROXY_PORT } from "../requests/index.ts";
import { judgeWalls, type Breach, type Target, type Wall } from "./judge-walls.ts";
import { parseProbeReport, type Outcome, type ProbeReport } from "./probe-report.ts";

/** The Pod to prove, and what is known of its cluster. */
export type Proving = {
  readonly targets: readonly Target[];
  /** Runs `hold probe` with targets, and resolves to what it prints. Rejects after a limit of its own */
  readonly probe: (targets: readonly string[], from: ProbedFrom) => Promise<string>;
  /** Attempts from a place that the policy leaves alone; default none */
  readonly control?: ProbeReport | undefined;
  /** Walls that the user does without */
  readonly accepted: readonly Wall[];
  /** Time between two rounds after a breach; default 1 s */
  readonly pauseMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
};

/**
 * A place of attempts: an agent's process in its jail; or the sidecar's container, in the same network and of the same user, where no jail is and
 * they may begin before the agent's container runs.
 */
export type ProbedFrom = "jailed" | "beside";

/** The address to which the jail lets a process connect: if that fails, the probe itself does not work. */
const OWN = `tcp:127.0.0.1:${PROXY_PORT}`;
// Some clusters enforce a policy only 20 s after a Pod's start. A jail is there from the first instruction.
const MOST_BREACHED: Readonly<Record<Wall, number>> = { policy: 25, "own-node": 25, jail: 2 };
const PAUSE_MS = 1000;

/**
 * Resolves to the walls that the Pod lacks and the user accepted, once every other has held in two rounds of attempts after each other. One is
 * enough if something outside the Pod answered in it, such as its own node: then what did not was stopped, and is not a network that comes late. In
 * each round, the policy alone has to stop the attempts of the sidecar's container. Rejects with `RUNNER_UNAVAILABLE` if the jail
 * did not hold in two rounds, or another wall in 25, or if policy and jail are both missing: then nothing confines the agent.
 */
export async function proveWalls(proving: Proving): Promise<readonly Breach[]> {
  const { accepted, pauseMs = PAUSE_MS, signal } = proving;
  let held = 0;
  for (let breached = 0; ;) {
    const { breaches, isAnswered } = await tryRound(proving);
    const isEnough = !hasNone(breaches) && breaches.every(({ wall }) => accepted.includes(wall));
    held = isEnough ? held + 1 : 0;
    // A wall that was breached before has to show that it stays.
    if (held === (isAnswered && breached === 0 ? 1 : 2)) return breaches;
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

type Round = {
  readonly breaches: readonly Breach[];
  /** True if something outside the Pod answered */
  readonly isAnswered: boolean;
};

const ANSWERS: readonly (Outcome | undefined)[] = ["connected", "refused"];

/** Makes a round of attempts, from both containers at the same time. */
async function tryRound(proving: Proving): Promise<Round> {
  const { control, targets } = proving;
  const trying = attempt(proving, "beside");
  trying.catch(() => undefined);
  const jailed = await attempt(proving, "jailed");
  const free = await trying;
  return {
    breaches: judgeWalls(targets, { jailed, free, control }),
    // The first attempts count: the network was there before all others.
    isAnswered: targets.some(({ at }) => ANSWERS.includes(free.get(at))),
  };
}

async function attempt({ probe, signal, targets }: Proving, from: ProbedFrom): Promise<ProbeReport> {
  if (signal?.aborted === true) throw cancelledError();
  const asked = listWords(targets);
  const report = parseProbeReport(await probe(asked, from), asked);
  const own = report.get(OWN);
  if (own !== "connected") throw deafError(own);
  return report;
}

/** Lists the words of a probe. */
export function listWords(targets: readonly Target[]): readonly string[] {
  return [OWN, ...targets.map(({ at }) => at)];
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
