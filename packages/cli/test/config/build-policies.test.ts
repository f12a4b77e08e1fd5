import { describe, expect, it } from "vitest";
import type { Agent } from "@budgie/core";
import type { Policy, Tightening } from "@budgie/core/policy";
import { createAgent } from "../helpers/create-agent.ts";
import { findAwaitedAgents, refuseUnknownAgents, type Policies } from "@budgie/mcp-server";
import { buildPolicies } from "../../src/config/build-policies.ts";

const CEILING: Policy = { workspace: "rw", egress: { mode: "bridge", hosts: [] }, limits: {}, timeoutMs: 600_000 };
const file = "/etc/budgie.json";

function policiesOf(section: Tightening, { ceiling = CEILING, sandbox = true } = {}) {
  return buildPolicies({ ceiling, sections: new Map([["reviewer", section]]), programs: new Set(), file, sandbox });
}

describe("buildPolicies", () => {
  it("tightens the ceiling for agents with a section", () => {
    const { agents, ceiling } = policiesOf({ workspace: "ro", timeoutMs: 1000, limits: { pids: 50 } });

    expect(ceiling).toEqual(CEILING);
    expect([...agents]).toEqual([
      ["reviewer", { workspace: "ro", egress: { mode: "bridge", hosts: [] }, limits: { pids: 50 }, timeoutMs: 1000 }],
    ]);
  });

  it.each<[Tightening, Partial<Policy>, string]>([
    [{ workspace: "rw" }, { workspace: "ro" }, 'workspace "rw", and "ro" is'],
    [{ timeoutMs: 660_000 }, {}, 'timeout "11m", and "10m" is'],
    [{ limits: { memoryBytes: 8 * 2 ** 30 } }, {}, 'limits.memory "8192m", and "4096m" is'],
    [{ limits: { diskBytes: 2 ** 40 } }, {}, 'limits.disk "1048576m", and "10240m" is'],
    [{ limits: { cpus: 5 } }, {}, "limits.cpus 5, and 4 is"],
    [{ limits: { pids: 5000 } }, {}, "limits.pids 5000, and 512 is"],
    [{ limits: { tmpBytes: 2 ** 30 } }, {}, 'limits.tmp "1024m", and "512m" is'],
  ])("refuses the section %j under %j, and names file, agent and option", (section, ceiling, what) => {
    const [, limit] = /^(limits\.\w+) /.exec(what) ?? [];
    const instead = limit === undefined ? "remove it" : `raise "${limit}" for all`;
    expect(() => policiesOf(section, { ceiling: { ...CEILING, ...ceiling } })).toThrow(
      expect.objectContaining({
        code: "CONFIG_INVALID",
        message: `The file "${file}" gives the agent "reviewer" ${what} the most that budgie allows here. An agent's section can only tighten: lower it, or ${instead}.`,
      }),
    );
  });

  it.each<[Tightening, string]>([
    [{ workspace: "ro" }, "workspace"],
    [{ egress: "none" }, "egress"],
    [{ limits: { cpus: 1 } }, "limits"],
  ])("refuses %j without a sandbox", (section, option) => {
    expect(() => policiesOf(section, { sandbox: false })).toThrow(
      expect.objectContaining({
        code: "CONFIG_INVALID",
        message: `Without --sandbox nothing can enforce "${option}" of the agent "reviewer" in "${file}". Add --sandbox, or leave it out.`,
      }),
    );
  });

  it("refuses a read-only ceiling without a sandbox", () => {
    const ceiling: Policy = { ...CEILING, workspace: "ro" };

    expect(() => policiesOf({}, { ceiling, sandbox: false })).toThrow("nothing can enforce --workspace ro.");
  });

  it("accepts a shorter timeout without a sandbox too", () => {
    expect(policiesOf({ timeoutMs: 1000 }, { sandbox: false }).agents.get("reviewer")?.timeoutMs).toBe(1000);
  });
});

describe("refuseUnknownAgents", () => {
  it("refuses a section of an unknown agent, and names the known ones", () => {
    const agent = createAgent("writer");
    const maxTurnsPerMinute = { all: undefined, agents: new Map() };
    const options = { policies: policiesOf({}), config: file, maxTurnsPerMinute };

    expect(() => refuseUnknownAgents(options, [agent])).toThrow(
      expect.objectContaining({
        code: "CONFIG_INVALID",
        message: `The file "${file}" has a section for the agent "reviewer", which does not exist. Known agents: "writer". Correct the name, or remove the section.`,
      }),
    );
    expect(() => refuseUnknownAgents(options, [{ ...agent, name: "reviewer" }])).not.toThrow();
  });

  it("refuses a section with more than a timeout of an agent elsewhere, unless an agent here has its name", () => {
    const maxTurnsPerMinute = { all: undefined, agents: new Map() };
    const remote = { url: "http://127.0.0.1:1", headers: {}, allowRemote: true };
    const far = createAgent("reviewer", { file: "http://127.0.0.1:1", remote });
    const check = (section: Tightening, agents: readonly Agent[]): void =>
      refuseUnknownAgents({ policies: policiesOf(section), config: file, maxTurnsPerMinute }, agents);

    expect(() => check({ workspace: "ro" }, [far])).toThrow(
      expect.objectContaining({
        code: "CONFIG_INVALID",
        message: expect.stringMatching(/^The agent "reviewer" .* runs elsewhere, where nothing enforces its section /),
      }),
    );
    expect(() => check({ timeoutMs: 10 }, [far])).not.toThrow();
    expect(() => check({ workspace: "ro" }, [far, createAgent("reviewer")])).not.toThrow();
  });

  it("lets settings wait for agents of a backend, whose names have a dot", () => {
    const names = new Map([["re.viewer", 5]]);
    const policies = { ceiling: CEILING, agents: new Map([["re.viewer", CEILING]]) };
    const check = (hasBackend: boolean, more: Partial<Policies> = {}) => {
      const options = { policies: { ...policies, ...more }, maxTurnsPerMinute: { all: undefined, agents: names } };
      refuseUnknownAgents({ ...options, config: file, hasBackend }, []);
      return findAwaitedAgents({ ...options, config: file, hasBackend }, []);
    };

    expect(check(true)).toEqual([expect.stringContaining('"re.viewer"')]);
    expect(() => check(false)).toThrow("There is no agent");
    expect(() => check(true, { agents: new Map([["reviwer", CEILING]]) })).toThrow('the agent "reviwer"');
  });
});
