import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FAULTS } from "./faults.ts";
import { hasFaketime } from "./helpers/faketime.ts";
import type { Fault } from "./fault.ts";
import { createFaultPlace } from "./helpers/fault-place.ts";
import { printFaults, type FaultResult } from "./helpers/print-faults.ts";
import { startSecondEngine, type SecondEngine } from "./helpers/second-engine.ts";

const results: FaultResult[] = [];
let second: SecondEngine | undefined;

beforeAll(async () => {
  if (process.getuid?.() === 0) second = await startSecondEngine();
});

afterAll(async () => {
  printFaults(results);
  await second?.[Symbol.asyncDispose]();
});

describe("A fault leaves budgie at work, nothing behind and no answer lost:", () => {
  it.each(FAULTS.map((fault) => [fault.name, fault] as const))("%s", async (_name, fault) => {
    const lacks = toLack(fault);
    const result: FaultResult = { name: fault.name, lacks, trouble: "not asked", leaked: [], lost: [] };
    results.push(result);
    if (lacks !== undefined) return;
    await using place = await createFaultPlace(fault, second);

    await fault.strike(place);
    result.trouble = await place.trouble();
    result.lost = await place.lostAnswers();
    result.leaked = await place.leftovers();

    expect(result).toMatchObject({ trouble: undefined, leaked: [], lost: [] });
  });
});

/** What a fault cannot be made without; the table says which did not strike. */
function toLack({ on, takes }: Fault): string | undefined {
  if ((on === "own engine" || takes === "root") && process.getuid?.() !== 0) return "root";
  return takes === "faketime" && !hasFaketime() ? "libfaketime" : undefined;
}
