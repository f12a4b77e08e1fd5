import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Fault } from "../fault.ts";
import { createFaultPlace } from "./fault-place.ts";
import { hasFaketime } from "./faketime.ts";
import { printFaults, type FaultResult } from "./print-faults.ts";
import { startSecondEngine, type SecondEngine } from "./second-engine.ts";

/** Defines a test for each fault. Faults that break an engine need a second one, which only root can start. */
export function describeFaults(faults: readonly Fault[]): void {
  const results: FaultResult[] = [];
  let second: SecondEngine | undefined;

  beforeAll(async () => {
    if (faults.some(needsSecondEngine) && process.getuid?.() === 0) second = await startSecondEngine();
  });

  afterAll(async () => {
    printFaults(results);
    await second?.[Symbol.asyncDispose]();
  });

  describe("a fault leaves budgie working, nothing behind and no answer lost:", () => {
    it.each(faults.map((fault) => [fault.name, fault] as const))("%s", async (_name, fault) => {
      const missing = findMissing(fault);
      const result: FaultResult = { name: fault.name, missing, trouble: "not asked", leaked: [], lost: [] };
      results.push(result);
      if (missing !== undefined) return;
      await using place = await createFaultPlace(fault, second);

      await fault.inject(place);
      result.trouble = await place.trouble();
      result.lost = await place.lostAnswers();
      result.leaked = await place.leftovers();

      expect(result).toMatchObject({ trouble: undefined, leaked: [], lost: [] });
    });
  });
}

/** Tells whether a fault breaks an engine, which must not be the one that other tests use. */
export function needsSecondEngine({ on }: Fault): boolean {
  return on === "own engine";
}

/** Returns the missing requirement of a fault, which is then reported and skipped. */
function findMissing(fault: Fault): string | undefined {
  const { needs } = fault;
  if ((needsSecondEngine(fault) || needs === "root") && process.getuid?.() !== 0) return "root";
  return needs === "faketime" && !hasFaketime() ? "libfaketime" : undefined;
}
