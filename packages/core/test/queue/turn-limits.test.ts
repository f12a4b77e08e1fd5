import { describe, expect, it } from "vitest";
import { fillLimits } from "@budgie/core/turn";

const GiB = 2 ** 30;

describe("fillLimits", () => {
  it.each([
    ["two turns a core", { cpus: 2, memoryBytes: 64 * GiB }, 4],
    ["one turn a GiB if that is less", { cpus: 16, memoryBytes: 6.5 * GiB }, 6],
    ["one turn on the smallest machine", { cpus: 1, memoryBytes: GiB / 2 }, 1],
  ])("allows %s by default", (_what, capacity, concurrent) => {
    expect(fillLimits({}, capacity)).toEqual({ concurrent, queued: 256, agents: new Map() });
  });

  it("uses configured limits on any machine", () => {
    const said = { concurrent: 50, queued: 0, agents: new Map([["a", 1]]) };

    expect(fillLimits(said, { cpus: 1, memoryBytes: GiB })).toEqual(said);
  });
});
