import { describe, expect, it } from "vitest";
import type { ClaimResult, Verdict } from "@budgie/claims";
import { isProven, countProof, proofText } from "../../../src/commands/doctor/proof.ts";

const HELD: Verdict = { outcome: "held", detail: "Operation not permitted" };
const THROUGH: Verdict = { outcome: "got-through", detail: "it was\u001b[2J done" };
const UNTRIED: Verdict = { outcome: "untried", detail: "the image has no perl" };
const MOOT: Verdict = { outcome: "untried", detail: "this kernel has no such call" };

const isMoot = ({ detail }: Verdict): boolean => detail === MOOT.detail;

function toResult(id: string, verdicts: readonly Verdict[]): ClaimResult {
  const probes = verdicts.map((verdict, index) => ({ name: `attack ${index}`, verdict }));
  return { id, promise: `It is ${id}.`, protections: ["user"], probes };
}

describe("the proof of claims", () => {
  it("has a row for each claim, and a line for each probe that was not held", () => {
    const results = [
      toResult(
        "safe",
        Array.from({ length: 10 }, () => HELD),
      ),
      toResult("old-kernel", [HELD, MOOT]),
      toResult("broken", [THROUGH, HELD, HELD]),
      toResult("unknown", [UNTRIED]),
    ];

    expect(proofText(countProof(results, isMoot)).split("\n")).toEqual([
      "ok      safe        10 of 10  It is safe.",
      "note    old-kernel  1 of 2    It is old-kernel.",
      "        nothing to attack: attack 1 (this kernel has no such call)",
      "failed  broken      2 of 3    It is broken.",
      "        got through: attack 0 (it was?[2J done)",
      "failed  unknown     0 of 1    It is unknown.",
      "        could not be tried: attack 0 (the image has no perl)",
      "15 probes ran, 1 got through, 1 found nothing to attack, 1 could not be tried.",
      expect.stringMatching(/^What could not be tried is not proven\. .*--sandbox-image/),
      "",
    ]);
  });

  it("ends with the counts if all were held", () => {
    const proof = countProof([toResult("safe", [HELD, HELD])], isMoot);

    expect(proofText(proof).split("\n").at(-2)).toBe("2 probes ran, 0 got through.");
  });

  it.each([
    ["held", [HELD], true],
    ["found nothing to attack", [HELD, MOOT], true],
    ["got through", [HELD, THROUGH], false],
    ["could not be tried", [HELD, UNTRIED], false],
  ])("with a probe that %s proves: %j is %j", (_what, verdicts, proven) => {
    expect(isProven(countProof([toResult("some", verdicts)], isMoot))).toBe(proven);
  });
});
