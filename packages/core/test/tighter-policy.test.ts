import { describe, expect, it } from "vitest";
import {
  BudgieError,
  DEFAULT_LIMITS,
  toTighterPolicy,
  toWalls,
  type Loosening,
  type Policy,
  type Tightening,
} from "@budgie/core";

const CEILING: Policy = { workspace: "rw", network: "open", limits: {}, timeoutMs: 600_000 };
const GiB = 2 ** 30;

/** The policy of a call: the ceiling, then the agent's section, then the call. */
function effective(agent: Tightening, call: Tightening): Policy {
  return toTighterPolicy(toTighterPolicy(CEILING, agent, refuse), call, refuse);
}

function refuse(loosening: Loosening): BudgieError {
  return new BudgieError("INPUT_INVALID", JSON.stringify(loosening));
}

describe("toTighterPolicy", () => {
  it.each<[string, Tightening, Tightening, Partial<Policy>]>([
    ["nothing of either", {}, {}, {}],
    ["a read-only agent", { workspace: "ro" }, {}, { workspace: "ro" }],
    ["a read-only call", {}, { workspace: "ro" }, { workspace: "ro" }],
    [
      "what is so already",
      { workspace: "ro", network: "none" },
      { workspace: "ro", network: "none" },
      { workspace: "ro", network: "none" },
    ],
    ["as much as there is", { workspace: "rw", network: "open" }, { workspace: "rw", timeoutMs: 600_000 }, {}],
    [
      "no network for an agent, a read-only call",
      { network: "none" },
      { workspace: "ro" },
      { workspace: "ro", network: "none" },
    ],
    ["a shorter time, twice", { timeoutMs: 5000 }, { timeoutMs: 4000 }, { timeoutMs: 4000 }],
    ["one limit", { limits: { pids: 9 } }, {}, { limits: { pids: 9 } }],
    [
      "limits of both, the call's lower",
      { limits: { memoryBytes: 2 * GiB, cpus: 2 } },
      { limits: { memoryBytes: GiB, pids: 100 } },
      { limits: { memoryBytes: GiB, cpus: 2, pids: 100 } },
    ],
    ["exactly the default limits", { limits: DEFAULT_LIMITS }, {}, { limits: DEFAULT_LIMITS }],
  ])("makes %s into the tightest of all", (...[, agent, call, expected]) => {
    expect(effective(agent, call)).toEqual({ ...CEILING, ...expected });
  });

  it.each<[Tightening, Tightening, Loosening]>([
    [{ workspace: "ro" }, { workspace: "rw" }, { option: "workspace", asked: "rw", most: "ro" }],
    [{ network: "none" }, { network: "open" }, { option: "network", asked: "open", most: "none" }],
    [{ timeoutMs: 600_001 }, {}, { option: "timeout", asked: 600_001, most: 600_000 }],
    [{ timeoutMs: 5000 }, { timeoutMs: 5001 }, { option: "timeout", asked: 5001, most: 5000 }],
    [{ limits: { memoryBytes: 5 * GiB } }, {}, { option: "memory", asked: 5 * GiB, most: 4 * GiB }],
    [{ limits: { cpus: 4.5 } }, {}, { option: "cpus", asked: 4.5, most: 4 }],
    [{ limits: { pids: 9 } }, { limits: { pids: 10 } }, { option: "pids", asked: 10, most: 9 }],
    [{ limits: { pids: 2000 } }, {}, { option: "pids", asked: 2000, most: 1024 }],
  ])("refuses %j followed by %j", (agent, call, loosening) => {
    expect(() => effective(agent, call)).toThrow(refuse(loosening));
  });

  it("takes what is no number for more, not for less", () => {
    expect(() => effective({ timeoutMs: Number.NaN }, {})).toThrow(BudgieError);
  });
});

describe("toWalls", () => {
  it.each([
    [{ workspace: "rw", network: "open", limits: {} }, []],
    [{ workspace: "ro", network: "open", limits: {} }, ["workspace"]],
    [{ workspace: "rw", network: "none", limits: { pids: 5 } }, ["network", "limits"]],
  ] as const)("of %j are %j", (access, walls) => {
    expect(toWalls(access)).toEqual(walls);
  });
});
