import type { ClaimResult, Verdict } from "@budgie/claims";

/** The results of the claims in `budgie doctor --prove`. */
export type Proof = {
  /** The number of probes that ran */
  readonly ran: number;
  readonly gotThrough: number;
  /** The number of run probes that had nothing to attack */
  readonly nothingToAttack: number;
  readonly untried: number;
  readonly claims: readonly ProvenClaim[];
};

type ProvenClaim = Pick<ClaimResult, "id" | "promise" | "protections"> & {
  readonly held: number;
  readonly probes: readonly { readonly name: string; readonly outcome: Outcome; readonly detail: string }[];
};

type Outcome = Verdict["outcome"] | "nothing-to-attack";

/** Counts the outcomes of the claims' probes. */
export function countProof(results: readonly ClaimResult[], isMoot: (verdict: Verdict) => boolean): Proof {
  const claims = results.map(({ id, probes, promise, protections }): ProvenClaim => {
    const shown = probes.map(({ name, verdict }) => {
      const outcome: Outcome = isMoot(verdict) ? "nothing-to-attack" : verdict.outcome;
      return { name, outcome, detail: verdict.detail };
    });
    return { id, promise, protections, held: shown.filter(({ outcome }) => outcome === "held").length, probes: shown };
  });
  const outcomes = claims.flatMap(({ probes }) => probes.map(({ outcome }) => outcome));
  const count = (wanted: Outcome): number => outcomes.filter((outcome) => outcome === wanted).length;
  const untried = count("untried");
  const ran = outcomes.length - untried;
  return { ran, gotThrough: count("got-through"), nothingToAttack: count("nothing-to-attack"), untried, claims };
}

/** Returns whether every probe ran and none got through. */
export function isProven({ gotThrough, untried }: Proof): boolean {
  return gotThrough === 0 && untried === 0;
}

/** Returns a table with a row for each claim, and a line below it for each probe that did not hold. */
export function proofText(proof: Proof): string {
  const { claims, gotThrough, nothingToAttack, ran, untried } = proof;
  const widths = {
    id: Math.max(...claims.map(({ id }) => id.length)),
    count: Math.max(...claims.map((claim) => formatCount(claim).length)),
  };
  const summary = [
    `${ran} probes ran`,
    `${gotThrough} got through`,
    ...(nothingToAttack === 0 ? [] : [`${nothingToAttack} found nothing to attack`]),
    ...(untried === 0 ? [] : [`${untried} could not be tried`]),
  ];
  const lines = [...claims.flatMap((claim) => formatRows(claim, widths)), `${summary.join(", ")}.`];
  return `${[...lines, ...(untried === 0 ? [] : [REMEDY])].join("\n")}\n`;
}

const REMEDY =
  "What could not be tried is not proven. Where the image lacks a program, add it, or name another image with " +
  "--sandbox-image: the protections are not the image's.";

type Widths = { readonly id: number; readonly count: number };

function formatRows(claim: ProvenClaim, widths: Widths): readonly string[] {
  const { id, probes, promise } = claim;
  const count = formatCount(claim).padEnd(widths.count);
  const row = `${judgeProbes(probes).padEnd(7)} ${id.padEnd(widths.id)}  ${count}  ${promise}`;
  const details = probes.filter(({ outcome }) => outcome !== "held");
  return [
    row,
    ...details.map(({ detail, name, outcome }) => `        ${WORDS[outcome]}: ${name} (${printableDetail(detail)})`),
  ];
}

function formatCount({ held, probes }: ProvenClaim): string {
  return `${held} of ${probes.length}`;
}

function judgeProbes(probes: ProvenClaim["probes"]): "ok" | "note" | "failed" {
  const outcomes = new Set(probes.map(({ outcome }) => outcome));
  if (outcomes.has("got-through") || outcomes.has("untried")) return "failed";
  return outcomes.has("nothing-to-attack") ? "note" : "ok";
}

const WORDS: Readonly<Record<Outcome, string>> = {
  held: "held",
  "got-through": "got through",
  untried: "could not be tried",
  "nothing-to-attack": "nothing to attack",
};

/** Replaces control characters, since the image's programs wrote the text. */
function printableDetail(detail: string): string {
  return detail.replace(/[\p{Cc}\p{Cf}]/gu, "?");
}
