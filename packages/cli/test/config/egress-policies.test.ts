import { describe, expect, it } from "vitest";
import { presetHosts } from "@budgie/egress/allow-list";
import type { AgentSection, EgressWishes } from "../../src/config/config-file.ts";
import { parseEgressCeiling } from "../../src/config/parse-egress-ceiling.ts";
import { buildPolicies } from "../../src/config/build-policies.ts";

const file = "/etc/budgie.json";
const KIRO = presetHosts("kiro").map(({ host, port }) => `${host}:${port}`);

type Said = {
  readonly options?: EgressWishes;
  readonly inFile?: EgressWishes;
  readonly section?: AgentSection;
  /** The agents of other programs */
  readonly programs?: readonly string[];
};

/** Returns the hosts that an agent with this section reaches. */
function egressOf({ inFile = {}, options = {}, programs = [], section = {} }: Said) {
  const egress = parseEgressCeiling({ options, inFile, file, sandbox: true });
  const ceiling = { workspace: "rw", egress, limits: {}, timeoutMs: 1 } as const;
  const sections = new Map([["reviewer", section]]);
  const { agents } = buildPolicies({ ceiling, sections, programs: new Set(programs), file, sandbox: true });
  const { hosts, mode } = agents.get("reviewer")?.egress ?? egress;
  return {
    mode,
    hosts: hosts.map(({ address, host, port }) => `${host}:${port}${address === undefined ? "" : `=${address}`}`),
  };
}

describe("the hosts that all agents reach", () => {
  it("are Kiro's by default", () => {
    expect(egressOf({})).toEqual({ mode: "allowlist", hosts: KIRO });
  });

  it("are Kiro's and those of the options, which replace the file's", () => {
    const inFile: EgressWishes = { egress: "open", allowHost: ["file.test"], allowPreset: ["npm"] };

    expect(egressOf({ inFile })).toEqual({ mode: "open", hosts: ["file.test:443", "registry.npmjs.org:443", ...KIRO] });
    expect(egressOf({ inFile, options: { egress: "allowlist", allowHost: ["flag.test:80"] } })).toEqual({
      mode: "allowlist",
      hosts: ["flag.test:80", "registry.npmjs.org:443", ...KIRO],
    });
    expect(egressOf({ inFile, options: { allowPreset: ["pypi"] } }).hosts).toEqual([
      "file.test:443",
      "pypi.org:443",
      "files.pythonhosted.org:443",
      ...KIRO,
    ]);
  });

  it("are pinned where the user pinned them, whatever presets contain", () => {
    const options: EgressWishes = { allowHost: ["Registry.npmjs.org.=10.0.0.3"], allowPreset: ["npm"] };

    expect(egressOf({ options }).hosts).toEqual(["registry.npmjs.org:443=10.0.0.3", ...KIRO]);
  });

  it("name where each host was configured", () => {
    const inFile: EgressWishes = { allowHost: ["a.test"], allowPreset: ["npm"] };
    const { hosts } = parseEgressCeiling({ options: { allowHost: ["b.test"] }, inFile, file, sandbox: true });

    expect(hosts.slice(0, 3).map(({ from }) => from)).toEqual([
      "--allow-host",
      'preset npm, "allowPreset" in "/etc/budgie.json"',
      "preset kiro, which Kiro needs",
    ]);
  });

  it.each<[EgressWishes, string]>([
    [{ egress: "allowlist" }, '"egress" in'],
    [{ allowHost: [] }, '"allowHost" in'],
    [{ allowPreset: ["npm"] }, '"allowPreset" in'],
  ])("cannot be %j in a file without a sandbox", (inFile, what) => {
    expect(() => parseEgressCeiling({ options: {}, inFile, file, sandbox: false })).toThrow(
      `Without --sandbox nothing can enforce ${what} "/etc/budgie.json".`,
    );
  });
});

describe("the hosts of another program", () => {
  const options: EgressWishes = { allowHost: ["git.corp.test"], allowPreset: ["codex"] };
  const CODEX = presetHosts("codex").map(({ host, port }) => `${host}:${port}`);
  const hostsOf = (said: Said) => egressOf({ programs: ["reviewer"], ...said }).hosts;

  it("are those of its section, without Kiro's", () => {
    expect(hostsOf({ options, section: { allowPreset: ["codex"] } })).toEqual(CODEX);
    expect(hostsOf({ options, section: { allowHost: ["git.corp.test"] } })).toEqual(["git.corp.test:443"]);
    expect(hostsOf({ options, section: { allowHost: [] } })).toEqual([]);
  });

  it("are those that the configuration allows for all if its section names none, without Kiro's", () => {
    expect(hostsOf({ options })).toEqual(["git.corp.test:443", ...CODEX]);
    expect(hostsOf({})).toEqual([]);
    expect(egressOf({ options: { egress: "open", allowHost: ["db.test=10.0.0.5"] }, programs: ["reviewer"] })).toEqual({
      mode: "open",
      hosts: ["db.test:443=10.0.0.5"],
    });
  });

  it("include Kiro's where the configuration names them, as for Kiro's own program over ACP", () => {
    expect(hostsOf({ options, section: { allowPreset: ["kiro"] } })).toEqual(KIRO);
    expect(hostsOf({ options: { allowPreset: ["kiro"] } })).toEqual(KIRO);
  });

  it("include no host of Kiro's that a wildcard with another address would keep for Kiro", () => {
    const wide: EgressWishes = { allowHost: ["*.amazonaws.com=10.0.0.5"] };

    expect(hostsOf({ options: wide, section: wide as AgentSection })).toEqual(["*.amazonaws.com:443=10.0.0.5"]);
  });
});

describe("the hosts of an agent's section", () => {
  const options: EgressWishes = { allowHost: ["*.corp.test", "db.test=10.0.0.5"], allowPreset: ["npm"] };

  it("replace those of all agents, except Kiro's", () => {
    expect(egressOf({ options, section: { allowHost: ["git.corp.test"] } })).toEqual({
      mode: "allowlist",
      hosts: ["git.corp.test:443", ...KIRO],
    });
    expect(egressOf({ options, section: { allowPreset: ["npm"] } }).hosts).toEqual(["registry.npmjs.org:443", ...KIRO]);
    expect(egressOf({ options, section: { allowHost: [] } }).hosts).toEqual(KIRO);
    expect(egressOf({ options, section: { allowHost: ["db.test=10.0.0.5"] } }).hosts).toContain("db.test:443=10.0.0.5");
  });

  it("are those of all agents if the section names none", () => {
    expect(egressOf({ options, section: { workspace: "ro" } })).toEqual(egressOf({ options }));
  });

  it("keep a host of Kiro's where the user pinned it", () => {
    const pinned: EgressWishes = { allowHost: ["q.us-east-1.amazonaws.com=10.0.0.9"] };

    expect(egressOf({ options: pinned, section: { allowHost: [] } }).hosts).toContain(
      "q.us-east-1.amazonaws.com:443=10.0.0.9",
    );
    expect(egressOf({ options: pinned, section: { allowHost: [] } }).hosts).not.toContain(
      "q.us-east-1.amazonaws.com:443",
    );
  });

  it.each(["open", "bridge"] as const)("are a list under %s too, where it may contain any host", (egress) => {
    expect(egressOf({ options: { egress }, section: { allowHost: ["any.test"] } })).toEqual({
      mode: "allowlist",
      hosts: ["any.test:443", ...KIRO],
    });
    expect(egressOf({ options: { ...options, egress }, section: { egress: "allowlist" } })).toEqual(
      egressOf({ options }),
    );
  });

  it.each<[AgentSection, string]>([
    [{ allowHost: ["other.test"] }, "other.test:443"],
    [{ allowHost: ["corp.test"] }, "corp.test:443"],
    [{ allowHost: ["*.evil.test"] }, "*.evil.test:443"],
    [{ allowHost: ["git.corp.test:22"] }, "git.corp.test:22"],
    [{ allowHost: ["db.test"] }, "db.test:443"],
    [{ allowHost: ["db.test=10.0.0.6"] }, "db.test:443=10.0.0.6"],
    [{ allowPreset: ["pypi"] }, "pypi.org:443"],
  ])("cannot be %j if that is not allowed for all", (section, host) => {
    expect(() => egressOf({ options, section })).toThrow(
      expect.objectContaining({
        code: "CONFIG_INVALID",
        message: `The file "/etc/budgie.json" lets the agent "reviewer" reach the host "${host}", which budgie does not allow here. An agent's section can only tighten: allow the host for all with --allow-host, or remove it.`,
      }),
    );
  });

  it.each<[EgressWishes, AgentSection]>([
    [{ egress: "none" }, { egress: "allowlist" }],
    [{}, { egress: "open" }],
    [{ egress: "open" }, { egress: "bridge" }],
  ])("cannot exceed %j with %j", (wishes, section) => {
    expect(() => egressOf({ options: wishes, section })).toThrow("An agent's section can only tighten");
  });

  it("are refused with the place of an invalid entry", () => {
    expect(() => egressOf({ section: { allowHost: ["10.0.0.1"] } })).toThrow(
      'Cannot allow the host "10.0.0.1" ("agents.reviewer.allowHost" in "/etc/budgie.json"): an address is not a name',
    );
  });
});
