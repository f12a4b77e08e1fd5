import { describe, expect, it } from "vitest";
import type { Exit } from "@budgie/core";
import { RESOURCE_CLAIMS } from "../../src/kernel/resource-claims.ts";
import type { Lab } from "../../src/lab/lab.ts";

const KILLED: Exit = { exitCode: undefined, signal: "SIGKILL", reason: undefined, oomKilled: false };
const MEMORY_PROBES = RESOURCE_CLAIMS.flatMap(({ id, probes }) => (id === "bounded-memory" ? probes : []));

describe("a memory probe without a report", () => {
  it.each<[string, Exit, "held" | "untried"]>([
    ["is held if the engine says that memory ran out", { ...KILLED, oomKilled: true }, "held"],
    ["is held if it was killed, and the engine does not say why, like Podman 4", KILLED, "held"],
    ["is untried if budgie killed it", { ...KILLED, reason: "timeout" }, "untried"],
    ["is untried if it ended by itself", { ...KILLED, exitCode: 1, signal: undefined }, "untried"],
  ])("%s", async (_, exit, outcome) => {
    const lab = { run: () => Promise.resolve({ stdout: "", stderr: "", exit }) } as unknown as Lab;

    const verdicts = await Promise.all(MEMORY_PROBES.map((probe) => probe.attempt(lab)));

    expect(new Set(verdicts.map((verdict) => verdict.outcome))).toEqual(new Set([outcome]));
  });
});
