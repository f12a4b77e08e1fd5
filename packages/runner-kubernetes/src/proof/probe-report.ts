import { BudgieError } from "@budgie/core";

/** The outcome of an attempt to reach a target, in the words of `hold probe`. */
export type Outcome = (typeof OUTCOMES)[number];

/** The outcomes of `hold probe` by target, such as `tcp:10.0.0.1:443`. */
export type ProbeReport = ReadonlyMap<string, Outcome>;

const OUTCOMES = ["connected", "refused", "denied", "timeout", "unreachable"] as const;
// The longest target is an IPv6 address with its port.
const MOST_BYTES_EACH = 128;

/** Returns the report of a probe that was given these targets. Throws `RUNNER_UNAVAILABLE` unless it tells of each exactly once. */
export function parseProbeReport(text: string, targets: readonly string[]): ProbeReport {
  if (text.length > MOST_BYTES_EACH * (targets.length + 1)) throw unclear();
  const lines = text.split("\n").filter((line) => line !== "");
  const report = new Map(lines.map(parseLine));
  if (lines.length !== targets.length || !targets.every((target) => report.has(target))) throw unclear();
  return report;
}

function parseLine(line: string): readonly [string, Outcome] {
  const [target = "", word, ...more] = line.split(" ");
  const outcome = OUTCOMES.find((known) => known === word);
  if (outcome === undefined || more.length > 0) throw unclear();
  return [target, outcome];
}

function unclear(): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    "The probe of the Pod's network did not report on each of its targets, so nothing is known of its walls. Try again.",
  );
}
