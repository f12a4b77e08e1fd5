import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createTemporaryFolder } from "../../../core/test/helpers/temporary-folder.ts";
import { findPolicy, findProvided, findWorkspace } from "@budgie/mcp-server/commands";
import { parseConfig } from "../../src/config/config.ts";
import { toSilentHost } from "../helpers/to-silent-host.ts";

const AGENT = { name: "worker", file: "worker.json" };

/** Parses a configuration file of a home, in which the folders `code` and `code/app` exist. */
function parse(content: object, values: object = { sandbox: true }) {
  const home = createTemporaryFolder();
  mkdirSync(join(home, "code/app"), { recursive: true });
  const file = join(home, "budgie.json");
  writeFileSync(file, JSON.stringify(content));
  const config = parseConfig({ config: file, ...values }, toSilentHost({ home, cwd: home }));
  const policyIn = (directory: string, agent = "worker") => findPolicy(config, agent, join(home, directory));
  const providedIn = (directory: string, env: NodeJS.ProcessEnv = {}) =>
    findProvided(config, { agent: AGENT, workspace: findWorkspace(config, join(home, directory)), env });
  return { config, home, policyIn, providedIn };
}

describe("the settings of a directory", () => {
  it("are those of the longest path that holds it, and of no other", () => {
    const { providedIn } = parse({
      workspaces: { "~/code": { image: "general" }, "code/app": { image: "app" }, "~/codex": { image: "other" } },
    });

    expect(
      ["code", "code/x", "code/app", "code/app/src", "code/application", "elsewhere"].map((at) => providedIn(at).image),
    ).toEqual(["general", "general", "app", "app", "general", undefined]);
  });

  it("count below the directory that a symlink led to when budgie started", () => {
    const home = createTemporaryFolder();
    mkdirSync(join(home, "disk/code"), { recursive: true });
    symlinkSync(join(home, "disk/code"), join(home, "code"));
    const file = join(home, "budgie.json");
    writeFileSync(file, JSON.stringify({ workspaces: { "~/code": { image: "linked" } } }));
    const config = parseConfig({ config: file, sandbox: true }, toSilentHost({ home, cwd: home }));

    const found = findProvided(config, {
      agent: AGENT,
      workspace: findWorkspace(config, join(home, "disk/code/app")),
      env: {},
    });

    expect(found.image).toBe("linked");
  });

  it("raise and lower limits, which an agent's section then tightens", () => {
    const { config, policyIn } = parse({
      limits: { memory: "8g" },
      agents: { worker: { limits: { memory: "6g", pids: 300 } } },
      workspaces: {
        "~/code": { limits: { memory: "16g", cpus: 64, tmp: "2g" } },
        "~/code/app": { limits: { memory: "2g" }, agents: { worker: { limits: { memory: "1g" }, workspace: "ro" } } },
      },
    });

    expect(config.policies.ceiling.limits).toEqual({ memoryBytes: 8 * 2 ** 30 });
    expect(policyIn("code", "other").limits).toEqual({ memoryBytes: 16 * 2 ** 30, cpus: 64, tmpBytes: 2 * 2 ** 30 });
    expect(policyIn("code").limits).toEqual({ memoryBytes: 6 * 2 ** 30, pids: 300, cpus: 64, tmpBytes: 2 * 2 ** 30 });
    expect(policyIn("code/app", "other").limits).toEqual({ memoryBytes: 2 * 2 ** 30 });
    expect(policyIn("code/app")).toMatchObject({ workspace: "ro", limits: { memoryBytes: 2 ** 30, pids: 300 } });
  });

  it("add hosts to those of all, and not to those of an agent that has its own", () => {
    const { policyIn } = parse({
      allowHost: ["all.example"],
      agents: { worker: { allowHost: ["all.example"] } },
      workspaces: { "~/code": { allowHost: ["code.example"], allowPreset: ["npm"] } },
    });
    const hostsIn = (directory: string, agent: string): readonly string[] =>
      policyIn(directory, agent).egress.hosts.map(({ host }) => host);

    expect(hostsIn("code", "other")).toEqual(expect.arrayContaining(["all.example", "code.example"]));
    expect(hostsIn("elsewhere", "other")).not.toContain("code.example");
    expect(hostsIn("code", "worker")).not.toContain("code.example");
  });

  it.each([
    [{ workspaces: { "~/code": { agents: { worker: { limits: { memory: "5g" } } } } } }, 'limits.memory "5120m"'],
    [{ egress: "none", workspaces: { "~/code": { allowPreset: ["npm"] } } }, 'with the egress mode "none"'],
    [{ workspaces: { "~/code": { allowHost: ["https://x"] } } }, 'workspaces."~/code".allowHost'],
  ])("are refused if they are %j", (content, message) => {
    expect(() => parse(content)).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
    expect(() => parse(content)).toThrow(message);
  });

  it.each([
    [{ limits: { pids: 100 } }],
    [{ allowHost: ["x.example"] }],
    [{ allowPreset: ["npm"] }],
    [{ services: { db: { image: "x", port: 1 } } }],
    [{ mounts: ["~/shared"] }],
  ])("need a sandbox for %j", (section) => {
    const content = { workspaces: { "~/code": section } };

    expect(() => parse(content, {})).toThrow("Without --sandbox nothing can enforce");
  });
});

describe("the mounts of a directory", () => {
  it("are the real paths of those that its section names, and of no other section", () => {
    const home = createTemporaryFolder();
    for (const name of ["code", "disk/schemas"]) mkdirSync(join(home, name), { recursive: true });
    symlinkSync(join(home, "disk/schemas"), join(home, "schemas"));
    const file = join(home, "budgie.json");
    const mounts = ["~/schemas", "/srv/missing.json"];
    writeFileSync(file, JSON.stringify({ workspaces: { "~/code": { mounts } } }));
    const config = parseConfig({ config: file, sandbox: true }, toSilentHost({ home, cwd: home }));
    const mountsIn = (directory: string) =>
      findProvided(config, { agent: AGENT, workspace: findWorkspace(config, join(home, directory)), env: {} }).mounts;

    expect(mountsIn("code/app")).toEqual([join(home, "disk/schemas"), "/srv/missing.json"]);
    expect(mountsIn("elsewhere")).toBeUndefined();
    expect(config.workspaces[0]?.mounts?.[0]).toMatchObject({
      named: join(home, "schemas"),
      option: `"workspaces."~/code".mounts" in "${file}"`,
    });
  });

  it.each([
    [["shared"], "an absolute path, or one that begins with ~/"],
    [["../shared"], "an absolute path, or one that begins with ~/"],
    [["~other/shared"], "an absolute path, or one that begins with ~/"],
    [["/shared\0"], "an absolute path, or one that begins with ~/"],
    [[""], "an absolute path, or one that begins with ~/"],
    [[7], "a path"],
    ["/shared", "a list of paths"],
    [Array.from({ length: 17 }, (_, index) => `/shared/${index}`), "at most 16 paths"],
  ])("are refused if they are %j", (mounts, expected) => {
    const refused = expect.objectContaining({
      code: "CONFIG_INVALID",
      message: expect.stringMatching(new RegExp(`^Expected "workspaces\\.~/code\\.mounts.* to be ${expected}\\.$`)),
    });

    expect(() => parse({ workspaces: { "~/code": { mounts } } })).toThrow(refused);
  });
});

describe("the variables of a directory", () => {
  const env = { HOME_TOKEN: "secret", EMPTY: "" };

  it("replace those of all; an agent's replace both, and those of the agent there come first", () => {
    const { providedIn } = parse({
      env: { A: "all", B: "all", C: "all", D: "all" },
      agents: { worker: { env: { C: "agent", D: "agent" } } },
      workspaces: { "~/code": { env: { B: "code", C: "code" }, agents: { worker: { env: { D: "there" } } } } },
    });

    expect(providedIn("code").env).toEqual({ A: "all", B: "code", C: "agent", D: "there" });
    expect(providedIn("x").env).toEqual({ A: "all", B: "all", C: "agent", D: "agent" });
  });

  it("take budgie's own where they name one, and leave out those that are not set", () => {
    const { providedIn } = parse({
      env: ["HOME_TOKEN", "UNSET"],
      workspaces: { "~/code": { env: { TOKEN: "$HOME_TOKEN", MISSING: "$UNSET", PRICE: "$5", EMPTY: "$EMPTY" } } },
    });

    expect(providedIn("code", env).env).toEqual({ HOME_TOKEN: "secret", TOKEN: "secret", PRICE: "$5", EMPTY: "" });
  });

  it("are needed where an agent's section names them", () => {
    const { providedIn } = parse({ agents: { worker: { env: { KEY: "$WORKER_KEY" } } } });

    expect(providedIn("code", { WORKER_KEY: "k" }).env).toEqual({ KEY: "k" });
    expect(() => providedIn("code", {})).toThrow(
      expect.objectContaining({ code: "LOGIN_REQUIRED", message: expect.stringContaining("needs WORKER_KEY") }),
    );
  });
});

describe("the services and the cache of a directory", () => {
  const db = { image: "postgres:16", port: 5432 };

  it("are those of the longest path, in their order, and cannot be an agent's", () => {
    const { providedIn } = parse({
      workspaces: {
        "~/code": { services: { db }, cache: ["npm"] },
        "~/code/app": { services: { cache: { ...db, command: ["x"], ready: ["y"] }, db: { ...db, env: { A: "$B" } } } },
      },
    });

    expect(providedIn("code")).toMatchObject({
      services: [{ name: "db", ...db, env: {} }],
      cache: { tools: ["npm"], trust: "full" },
    });
    expect(providedIn("code/app", { B: "secret" }).services).toEqual([
      { name: "cache", ...db, env: {}, command: ["x"], ready: ["y"] },
      { name: "db", ...db, env: { A: "$B" } },
    ]);
    expect(providedIn("code/app").cache).toBeUndefined();
    expect(providedIn("elsewhere").services).toBeUndefined();
  });

  it.each([
    [{ services: { Db: db } }, "a name of small letters, digits and dashes"],
    [{ services: { localhost: db } }, "a name of small letters, digits and dashes"],
    [{ services: { "db.x": db } }, "a name of small letters, digits and dashes"],
    [{ services: { db: { image: "x" } } }, "port"],
    [{ services: { db: { ...db, port: 65_536 } } }, "port"],
    [{ services: { db: { ...db, image: "" } } }, "image"],
    [{ services: { db: { ...db, command: "serve" } } }, "a list of words"],
    [{ services: { db: { ...db, ready: [] } } }, "ready"],
    [{ services: { db: { ...db, env: { "A=": "x" } } } }, "env"],
    [{ services: { db: { ...db, mounts: ["/"] } } }, "mounts"],
    [{ services: Object.fromEntries("abcdefghi".split("").map((name) => [name, db])) }, "at most 8 services"],
    [{ cache: "npm" }, "a list of npm, pip, cargo, go, maven"],
    [{ cache: ["yarn"] }, "one of npm, pip, cargo, go, maven"],
  ])("are refused if they are %j", (section, message) => {
    expect(() => parse({ workspaces: { "~/code": section } })).toThrow(message);
  });
});

describe("a subfolder's git", () => {
  it("gives its directory its own path", () => {
    const { config, home } = parse({ workspaces: { "~/code": { subfolderGit: true }, "~/code/app": {} } });

    expect(findWorkspace(config, join(home, "code/x"))).toMatchObject({ subfolderGit: true, workspacePath: "same" });
    expect(findWorkspace(config, join(home, "code/app"))?.workspacePath).toBeUndefined();
  });

  it("is refused where the directory is to have another path", () => {
    const section = { subfolderGit: true, workspacePath: "/workspace" };

    expect(() => parse({ workspaces: { "~/code": section } })).toThrow(
      /^The option "workspaces\."~\/code"\.workspacePath" in ".*" is "\/workspace", and with "subfolderGit" a directory has its own path\./,
    );
  });
});
