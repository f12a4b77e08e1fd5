import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { CLAIMS } from "../src/claims.ts";
import {
  listEngineProtections,
  judgeUlimits,
  findUsers,
  listProtectionNotices,
  type EngineInfo,
} from "../../runner-docker/src/engine/engine-protection.ts";
import { ENGINE_ANSWERS } from "../../runner-docker/test/helpers/engine-answers.ts";

const GOOD: EngineInfo = ENGINE_ANSWERS["Docker 20.10.24"];

// Words that differ from those in the ids of claims.
const CLAIM_NAMES: Readonly<Record<string, string>> = { processors: "cpu" };

const protectionOf = (name: string, changes: EngineInfo) =>
  listEngineProtections({ ...GOOD, ...changes }).find((protection) => protection.name === name);

describe("listEngineProtections", () => {
  it("finds everything on an ordinary engine", () => {
    const protections = listEngineProtections(GOOD);

    expect(protections.map(({ name, state }) => [name, state])).toEqual([
      ["limits", "held"],
      ["seccomp", "held"],
      ["users", "weak"],
      ["mandatory", "weak"],
    ]);
    expect(protections[0]?.text).toBe("on memory, processes and processors (cgroup v1, cgroupfs)");
    expect(listProtectionNotices(protections)).toEqual([]);
  });

  it.each([
    [{ MemoryLimit: false }, "memory"],
    [{ PidsLimit: false }, "processes"],
    [{ CpuCfsQuota: false }, "processors"],
    [{ MemoryLimit: false, PidsLimit: false }, "memory or processes"],
  ])("misses limits with %j, and says which", (changes, what) => {
    expect(protectionOf("limits", changes)).toEqual({
      name: "limits",
      state: "missing",
      text: expect.stringMatching(new RegExp(`^The engine cannot limit ${what} \\(cgroup v1, cgroupfs\\): .*kernel`)),
      breaks: what.split(" or ").map((limit) => `bounded-${CLAIM_NAMES[limit] ?? limit}`),
    });
  });

  it.each(["name=rootless", "name=seccomp,profile=default"])(
    "finds no limits on a rootless engine with cgroup v1, although it reports them, with %s",
    (option) => {
      const info = { ...ENGINE_ANSWERS["Podman 4.3.1, rootless"], SecurityOptions: [option] };

      expect(listEngineProtections(info)[0]).toMatchObject({
        name: "limits",
        state: "missing",
        text: expect.stringMatching(/memory or processes or processors.*Delegate=/),
        breaks: ["bounded-memory", "bounded-processes", "bounded-cpu"],
      });
    },
  );

  it("finds all limits on a rootless engine with cgroup v2 that has them", () => {
    const info = { ...ENGINE_ANSWERS["Podman 4.3.1, rootless"], CgroupVersion: "2" };

    expect(listEngineProtections(info)[0]).toMatchObject({ name: "limits", state: "held" });
  });

  it("tells the user of a rootless engine how to enable limits", () => {
    const SecurityOptions = ["name=seccomp,profile=builtin", "name=rootless", "name=cgroupns"];
    const changes = { MemoryLimit: false, CgroupVersion: "2", CgroupDriver: "none", SecurityOptions };

    expect(protectionOf("limits", changes)?.text).toMatch(/\(cgroup v2, none\).*Delegate=/);
  });

  it("assumes no limits of an engine that reports none", () => {
    expect(listEngineProtections({})[0]).toMatchObject({
      state: "missing",
      text: expect.stringMatching(/cgroup v\?, no driver/),
    });
  });

  it("notes that swap is unlimited if memory is limited", () => {
    expect(protectionOf("swap", { SwapLimit: false })).toMatchObject({
      state: "weak",
      text: expect.stringMatching(/swapaccount/),
    });
  });

  it.each([
    [[], "missing", /without seccomp.*kernel that have it\.$/],
    // The engine's own profile does not matter, because budgie sets its own.
    [["name=seccomp,profile=unconfined"], "held", /budgie's own profile/],
    [["name=apparmor", "name=seccomp,profile=builtin"], "held", /budgie's own profile/],
  ])("reports the state of seccomp with %j", (SecurityOptions, state, text) => {
    expect(protectionOf("seccomp", { SecurityOptions })).toMatchObject({ state, text: expect.stringMatching(text) });
  });

  it.each([
    [["name=rootless"], "held", "rootless"],
    [["name=userns"], "held", "remapped"],
    [["name=seccomp,profile=default"], "weak", "same"],
  ])("reports how users are mapped with %j", (SecurityOptions, state, users) => {
    expect(protectionOf("users", { SecurityOptions })?.state).toBe(state);
    expect(findUsers({ SecurityOptions })).toBe(users);
  });

  it.each([
    ["Docker 20.10.24", "same"],
    ["Docker 26.1.5", "same"],
    ["Podman 4.3.1", "same"],
    // Podman before 4.5 does not say so in its security options: https://github.com/containers/podman/issues/18208
    ["Podman 4.3.1, rootless", "rootless"],
    ["Podman 5.4.2", "same"],
  ] as const)("finds the user mapping of %s", (engine, users) => {
    expect(findUsers(ENGINE_ANSWERS[engine])).toBe(users);
  });

  it.each([
    [["name=apparmor"], "AppArmor"],
    [["name=selinux", "name=apparmor"], "AppArmor and SELinux"],
  ])("names the mandatory access control with %j", (SecurityOptions, text) => {
    expect(protectionOf("mandatory", { SecurityOptions })).toEqual({ name: "mandatory", state: "held", text });
  });

  it("reports an engine that accepts no ulimits on per-user resources", () => {
    const [of43] = judgeUlimits({ name: "Podman", version: "4.3.1" });

    expect(of43).toMatchObject({ name: "ulimits", state: "missing", breaks: ["bounded-user-shares"] });
    expect(judgeUlimits({ name: "Podman", version: "5.4.2" })).toEqual([]);
    expect(judgeUlimits({ name: "Docker", version: "4.3.1" })).toEqual([]);
  });

  it("passes on an engine's warnings in one line each, except those about limits", () => {
    const Warnings = [
      "WARNING: No swap limit support",
      "WARNING: API is accessible on http://0.0.0.0:2375\n   see docs",
    ];

    const passed = listEngineProtections({ ...GOOD, Warnings }).filter(({ name }) => name === "engine");

    expect(passed.map(({ text }) => text)).toEqual(["WARNING: API is accessible on http://0.0.0.0:2375 see docs"]);
  });
});

describe("the claims that a missing protection breaks", () => {
  const page = readFileSync(new URL("../../../docs/security.md", import.meta.url), "utf8");

  it("exist", () => {
    const ids = CLAIMS.map(({ id }) => id);

    expect(
      listEngineProtections({}).flatMap((protection) => (protection.state === "missing" ? protection.breaks : [])),
    ).not.toEqual([]);
    for (const protection of listEngineProtections({})) {
      if (protection.state === "missing") expect(ids).toEqual(expect.arrayContaining([...protection.breaks]));
    }
  });

  it.each([
    ["Docker 20.10.24", "", { name: "Docker", version: "20.10.24" }],
    ["Docker 26.1.5", "", { name: "Docker", version: "26.1.5" }],
    ["Podman 5.4.2", "", { name: "Podman", version: "5.4.2" }],
    ["Podman 4.3.1", "", { name: "Podman", version: "4.3.1" }],
    ["Podman 4.3.1, rootless", ", on cgroup v1", { name: "Podman", version: "4.3.1" }],
  ] as const)("are in docs/security.md for %s", (engine, where, named) => {
    const protections = [...listEngineProtections(ENGINE_ANSWERS[engine]), ...judgeUlimits(named)];
    const missing = protections.filter((protection) => protection.state === "missing");
    const toCell = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(", ") || "none";

    const cells = [toCell(missing.map(({ name }) => name)), toCell(missing.flatMap(({ breaks }) => breaks))];

    expect(page).toContain(`| ${engine}${where} | ${cells.join(" | ")} |\n`);
  });
});

describe("listProtectionNotices", () => {
  it("repeats what a user must know before the first turn", () => {
    const protections = listEngineProtections({ ...GOOD, PidsLimit: false, SecurityOptions: [] });

    expect(listProtectionNotices(protections)).toEqual([
      expect.stringMatching(/cannot limit processes/),
      expect.stringMatching(/without seccomp/),
    ]);
  });
});
