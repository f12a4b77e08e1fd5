import { describe, expect, it } from "vitest";
import { BudgieError, type AllowedHost, type EgressPolicy } from "@budgie/core";
import {
  chooseDefaultLimits,
  narrowPolicy,
  listSandboxOnly,
  type Loosening,
  type Policy,
  type Tightening,
} from "@budgie/core/policy";
import { DEFAULT_LIMITS } from "../../src/policy/policy.ts";

const CEILING: Policy = { workspace: "rw", egress: { mode: "bridge", hosts: [] }, limits: {}, timeoutMs: 600_000 };
const NOTHING: EgressPolicy = { mode: "none", hosts: [] };
const GiB = 2 ** 30;

/** Returns the policy of a call: the ceiling, narrowed by the agent's section, then by the call. */
function effective(agent: Tightening, call: Tightening): Policy {
  return narrowPolicy(narrowPolicy(CEILING, agent, refuse), call, refuse);
}

function refuse(loosening: Loosening): BudgieError {
  return new BudgieError("INPUT_INVALID", JSON.stringify(loosening));
}

it.each([
  [1, 1],
  [2, 1],
  [4, 3],
  [5, 4],
  [64, 4],
])("of %s processors, a sandbox gets %s by default", (cpus, expected) => {
  expect(chooseDefaultLimits(cpus)).toEqual({ ...DEFAULT_LIMITS, cpus: expected });
});

describe("narrowPolicy", () => {
  it.each<[string, Tightening, Tightening, Partial<Policy>]>([
    ["no policy of agent and call", {}, {}, {}],
    ["a read-only agent", { workspace: "ro" }, {}, { workspace: "ro" }],
    ["a read-only call", {}, { workspace: "ro" }, { workspace: "ro" }],
    ["an agent on a copy", { workspace: "copy" }, {}, { workspace: "copy" }],
    ["a read-only call of an agent on a copy", { workspace: "copy" }, { workspace: "ro" }, { workspace: "ro-copy" }],
    [
      "values equal to the ceiling",
      { workspace: "ro", egress: "none" },
      { workspace: "ro", egress: "none" },
      { workspace: "ro", egress: NOTHING },
    ],
    ["the maximum of all", { workspace: "rw", egress: "bridge" }, { workspace: "rw", timeoutMs: 600_000 }, {}],
    [
      "an agent without network and a read-only call",
      { egress: "none" },
      { workspace: "ro" },
      { workspace: "ro", egress: NOTHING },
    ],
    ["two shorter timeouts", { timeoutMs: 5000 }, { timeoutMs: 4000 }, { timeoutMs: 4000 }],
    ["one limit", { limits: { pids: 9 } }, {}, { limits: { pids: 9 } }],
    [
      "limits of both, the call's lower",
      { limits: { memoryBytes: 2 * GiB, cpus: 2 } },
      { limits: { memoryBytes: GiB, pids: 100 } },
      { limits: { memoryBytes: GiB, cpus: 2, pids: 100 } },
    ],
    ["exactly the default limits", { limits: DEFAULT_LIMITS }, {}, { limits: DEFAULT_LIMITS }],
  ])("narrows %s to the tightest of all", (...[, agent, call, expected]) => {
    expect(effective(agent, call)).toEqual({ ...CEILING, ...expected });
  });

  it.each<[Tightening, Tightening, Loosening]>([
    [{ workspace: "ro" }, { workspace: "rw" }, { option: "workspace", asked: "rw", most: "ro" }],
    [{ workspace: "copy" }, { workspace: "rw" }, { option: "workspace", asked: "rw", most: "copy" }],
    [{ workspace: "ro" }, { workspace: "copy" }, { option: "workspace", asked: "copy", most: "ro" }],
    [{ egress: "none" }, { egress: "open" }, { option: "egress", asked: "open", most: "none" }],
    [{ egress: "allowlist" }, { egress: "bridge" }, { option: "egress", asked: "bridge", most: "allowlist" }],
    [{ timeoutMs: 600_001 }, {}, { option: "timeout", asked: 600_001, most: 600_000 }],
    [{ timeoutMs: 5000 }, { timeoutMs: 5001 }, { option: "timeout", asked: 5001, most: 5000 }],
    [{ limits: { memoryBytes: 5 * GiB } }, {}, { option: "memory", asked: 5 * GiB, most: 4 * GiB }],
    [{ limits: { cpus: 4.5 } }, {}, { option: "cpus", asked: 4.5, most: 4 }],
    [{ limits: { pids: 9 } }, { limits: { pids: 10 } }, { option: "pids", asked: 10, most: 9 }],
    [{ limits: { diskBytes: 11 * GiB } }, {}, { option: "disk", asked: 11 * GiB, most: 10 * GiB }],
    [{ limits: { diskBytes: GiB } }, { limits: { diskBytes: 2 * GiB } }, { option: "disk", asked: 2 * GiB, most: GiB }],
    [{ limits: { pids: 2000 } }, {}, { option: "pids", asked: 2000, most: 512 }],
  ])("refuses %j followed by %j", (agent, call, loosening) => {
    expect(() => effective(agent, call)).toThrow(refuse(loosening));
  });

  it("rejects NaN", () => {
    expect(() => effective({ timeoutMs: Number.NaN }, {})).toThrow(BudgieError);
  });
});

describe("narrowPolicy, with an allow-list", () => {
  const list: EgressPolicy = {
    mode: "allowlist",
    hosts: [at("*.kiro.dev"), at("deb.test", 80), at("db.test", 443, "10.0.0.5")],
  };

  it.each<[EgressPolicy, AllowedHost]>([
    [list, at("api.kiro.dev")],
    [list, at("*.eu.kiro.dev")],
    [list, at("*.kiro.dev")],
    [list, at("deb.test", 80)],
    [list, at("db.test", 443, "10.0.0.5")],
    [{ mode: "open", hosts: [] }, at("anything.test", 8443)],
    [{ mode: "bridge", hosts: [] }, at("db.test", 443, "10.0.0.5")],
  ])("of %j allows a list with %j", (egress, host) => {
    const wish = { egress: "allowlist", allowedHosts: [host] } as const;

    expect(narrowPolicy({ ...CEILING, egress }, wish, refuse).egress).toEqual({ mode: "allowlist", hosts: [host] });
  });

  it.each<[EgressPolicy, AllowedHost, string]>([
    [list, at("kiro.dev"), "kiro.dev:443"],
    [list, at("evilkiro.dev"), "evilkiro.dev:443"],
    [list, at("api.kiro.dev.evil.test"), "api.kiro.dev.evil.test:443"],
    [list, at("*.dev"), "*.dev:443"],
    [list, at("api.kiro.dev", 22), "api.kiro.dev:22"],
    [list, at("deb.test"), "deb.test:443"],
    [list, at("api.kiro.dev", 443, "10.0.0.5"), "api.kiro.dev:443=10.0.0.5"],
    [list, at("db.test"), "db.test:443"],
    [list, at("db.test", 443, "10.0.0.6"), "db.test:443=10.0.0.6"],
    [{ mode: "open", hosts: [] }, at("anything.test", 443, "10.0.0.5"), "anything.test:443=10.0.0.5"],
    [{ mode: "none", hosts: list.hosts }, at("api.kiro.dev"), "api.kiro.dev:443"],
  ])("of %j refuses %j", (egress, host, asked) => {
    expect(() => narrowPolicy({ ...CEILING, egress }, { allowedHosts: [host] }, refuse)).toThrow(`"asked":"${asked}"`);
  });
});

describe("narrowPolicy, with pins below a wildcard", () => {
  const hosts = [at("*.test"), at("db.test", 443, "10.0.0.5"), at("*.lab.test", 443, "10.0.0.6"), at("db.test", 80)];

  it.each([at("db.test"), at("x.lab.test"), at("*.lab.test"), at("a.test", 443, "10.0.0.5")])(
    "refuses %j, which it would connect elsewhere",
    (host) => {
      for (const mode of ["allowlist", "open"] as const) {
        const policy = { ...CEILING, egress: { mode, hosts } };

        expect(() => narrowPolicy(policy, { allowedHosts: [host] }, refuse)).toThrow(`"option":"host"`);
      }
    },
  );

  it("keeps the pins of names below a requested wildcard", () => {
    const policy = { ...CEILING, egress: { mode: "allowlist", hosts } } as const;

    expect(narrowPolicy(policy, { allowedHosts: [at("*.test")] }, refuse).egress.hosts).toEqual(hosts.slice(0, 3));
    expect(narrowPolicy(policy, { allowedHosts: hosts.slice(0, 2) }, refuse).egress.hosts).toEqual(hosts.slice(0, 3));
    expect(narrowPolicy(policy, { allowedHosts: [at("a.test")] }, refuse).egress.hosts).toEqual([at("a.test")]);
  });
});

function at(host: string, port = 443, address?: string): AllowedHost {
  return { host, port, address, from: "a test" };
}

describe("listSandboxOnly", () => {
  it.each([
    [{ workspace: "rw", egress: { mode: "bridge", hosts: [] }, limits: {} }, []],
    [{ workspace: "ro", egress: { mode: "bridge", hosts: [] }, limits: {} }, ["workspace"]],
    [{ workspace: "rw", egress: { mode: "open", hosts: [] }, limits: { pids: 5 } }, ["egress", "limits"]],
  ] as const)("of %j are %j", (access, settings) => {
    expect(listSandboxOnly(access)).toEqual(settings);
  });
});
