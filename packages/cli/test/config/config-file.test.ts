import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseConfig } from "../../src/config/config.ts";
import { loadConfigFile } from "../../src/config/config-file.ts";
import { toSilentHost } from "../helpers/to-silent-host.ts";

let folder: string;
let file: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "budgie-config-"));
  file = join(folder, "budgie.json");
});
afterAll(() => rmSync(folder, { recursive: true }));

function load(content: unknown) {
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return loadConfigFile(file, "/home/me");
}

const ACP = { protocol: "acp", description: "Codes.", command: "codex-acp" };

describe("loadConfigFile", () => {
  it("returns nothing if no file is configured", () => {
    const nothing = {
      options: {},
      allowRoot: [],
      agents: new Map(),
      agentEnv: new Map(),
      configuredAgents: [],
      maxConcurrent: new Map(),
      budgets: { all: undefined, agents: new Map() },
      mcp: new Map(),
      workspaces: [],
    };
    expect(loadConfigFile(undefined, "/home/me")).toEqual(nothing);
    expect(load({})).toEqual(nothing);
  });

  it("resolves paths from the home, or from the file's own folder", () => {
    expect(load({ allowRoot: ["/srv", "~/code", "projects"] }).allowRoot).toEqual([
      "/srv",
      "/home/me/code",
      join(folder, "projects"),
    ]);
  });

  it("takes every other option, in JSON's own types, with paths from its folder", () => {
    const content = {
      sandbox: true,
      maxQueued: 0,
      heartbeat: "5s",
      agentsDir: "agents",
      stateDir: "~/state",
    };

    expect(load({ $schema: "config.schema.json", ...content, kiroBinary: "./kiro" }).options).toEqual({
      ...content,
      maxQueued: "0",
      agentsDir: join(folder, "agents"),
      stateDir: "/home/me/state",
      kiroBinary: join(folder, "kiro"),
    });
  });

  it("reads an agent's section", () => {
    const limits = { memory: "512M", cpus: 0.5, pids: 64, disk: "2g" };
    const { agents } = load({ agents: { a: { workspace: "ro", egress: "none", timeout: "1m30s", limits }, b: {} } });

    expect(agents.get("a")).toEqual({
      workspace: "ro",
      egress: "none",
      timeoutMs: 90_000,
      limits: { memoryBytes: 512 * 2 ** 20, cpus: 0.5, pids: 64, diskBytes: 2 ** 31 },
    });
    expect(agents.has("b")).toBe(true);
  });

  it("reads an agent that speaks ACP, with its restrictions", () => {
    const coder = { ...ACP, env: ["OPENAI_API_KEY"], model: "m", tokenBasis: "thread", workspace: "ro" };
    const { agentEnv, agents, configuredAgents } = load({ agents: { coder, a: { protocol: "kiro" } } });

    expect(configuredAgents).toEqual([
      expect.objectContaining({
        name: "coder",
        description: "Codes.",
        file: `"agents.coder" in ${file}`,
        model: "m",
        program: { argv: ["codex-acp"], home: {}, image: undefined, permission: "allow", tokenBasis: "thread" },
      }),
    ]);
    expect(agents.get("coder")).toEqual({ workspace: "ro", limits: {}, timeoutMs: undefined });
    expect(agentEnv).toEqual(
      new Map([
        ["coder", { OPENAI_API_KEY: "$OPENAI_API_KEY" }],
        ["a", {}],
      ]),
    );
  });

  it("reads the files of an agent's home from the user's, or from its own folder, and the image", () => {
    const home = { ".codex/auth.json": "~/.codex/auth.json", ".codex/config.toml": "codex.toml" };

    const { configuredAgents } = load({ agents: { coder: { ...ACP, home, image: "mine:1" } } });

    expect(configuredAgents[0]?.program).toMatchObject({
      home: { ".codex/auth.json": "/home/me/.codex/auth.json", ".codex/config.toml": join(folder, "codex.toml") },
      image: "mine:1",
    });
  });

  it("accepts hosts for all agents and for one", () => {
    const {
      agents,
      agentEnv: _,
      configuredAgents: __,
      maxConcurrent: ___,
      mcp: ____,
      workspaces: _____,
      budgets: ______,
      ...all
    } = load({
      egress: "allowlist",
      allowHost: ["a.test"],
      allowPreset: ["npm"],
      agents: { a: { allowHost: ["b.test"], allowPreset: [] } },
    });

    expect(all).toEqual({
      egress: "allowlist",
      allowHost: ["a.test"],
      allowPreset: ["npm"],
      allowRoot: [],
      options: {},
    });
    expect(agents.get("a")).toMatchObject({ allowHost: ["b.test"], allowPreset: [] });
  });

  it("keeps an agent's limit of concurrent turns apart from its policy", () => {
    const { agents, maxConcurrent } = load({ agents: { a: { maxConcurrent: 2 }, b: {} } });

    expect(maxConcurrent).toEqual(new Map([["a", 2]]));
    expect(agents.get("a")).toEqual(agents.get("b"));
  });

  it.each<[unknown, string]>([
    ["{", "line 1, column 2: close brace expected."],
    ['{\n  "egress": none\n}', "line 2, column 13: invalid symbol."],
    [{ agentTimout: "1m" }, 'has a key that is unknown in its content: "agentTimout". Did you mean "agentTimeout"?'],
    [{ config: "other.json" }, 'has a key that is unknown in its content: "config".'],
    [{ keepSessions: "yes" }, 'Expected "keepSessions" in'],
    [{ port: 65_536 }, "to be a port from 0 to 65535."],
    [{ maxConcurrent: "2" }, 'Expected "maxConcurrent" in'],
    [{ retry: "often" }, 'to be "safe", "always" or "never".'],
    [[], "Expected its content in"],
    [
      { allowRoots: ["/a"] },
      'has a key that is unknown in its content: "allowRoots". Did you mean "allowRoot"? Remove it, or correct',
    ],
    [{ allowRoot: "/a" }, 'Expected "allowRoot" in'],
    [{ allowRoot: [] }, "to be a list of at least one path."],
    [{ allowRoot: [""] }, 'Expected "allowRoot.0" in'],
    [{ agents: { a: { netwrok: "none" } } }, 'has a key that is unknown in "agents.a": "netwrok".'],
    [{ agents: { a: { workspace: "read-only" } } }, 'to be "ro", "copy" or "rw".'],
    [{ agents: { a: { egress: false } } }, "to be one of none, allowlist, open, bridge."],
    [{ egress: "some" }, "to be one of none, allowlist, open, bridge."],
    [{ allowHost: "a.test" }, 'Expected "allowHost" in'],
    [{ allowPreset: ["cargo"] }, 'Expected "allowPreset.0" in'],
    [{ agents: { a: { allowHost: [1] } } }, 'Expected "agents.a.allowHost.0" in'],
    [{ agents: { a: { timeout: "5" } } }, 'Expected "agents.a.timeout" in'],
    [{ agents: { a: { timeout: "0s" } } }, "to be longer than 0"],
    [{ agents: { a: { limits: { memory: "lots" } } } }, 'Expected "agents.a.limits.memory" in'],
    [{ agents: { a: { limits: { memory: "1m" } } } }, 'to be at least "16m".'],
    [{ agents: { a: { limits: { memory: 1024 } } } }, 'to be an amount such as "512m" or "2g".'],
    [{ agents: { a: { limits: { cpus: 0 } } } }, "to be a number of at least 0.01."],
    [{ agents: { a: { limits: { pids: 1.5 } } } }, "to be a whole number of at least 16."],
    [{ agents: { a: { maxConcurrent: 0 } } }, "to be a whole number of at least 1."],
    [{ agents: { a: { maxConcurrent: "2" } } }, 'Expected "agents.a.maxConcurrent" in'],
    [{ agents: { a: true } }, "to be an object."],
    [{ agents: { a: { protocol: "mcp" } } }, 'Expected "agents.a.protocol" in'],
    [{ agents: { a: { protocol: "mcp" } } }, 'to be "kiro", "acp" or "a2a".'],
    [{ agents: { a: { protocol: "acp", description: "x" } } }, 'Expected "agents.a.command" in'],
    [{ agents: { a: { ...ACP, home: { "../x": "y" } } } }, 'to be a path below a home, such as ".codex/auth.json".'],
    [{ agents: { a: { ...ACP, home: ["x"] } } }, 'Expected "agents.a.home" in'],
    [{ agents: { a: { command: "codex-acp" } } }, 'has a key that is unknown in "agents.a": "command".'],
    [{ agents: { a: { ...ACP, env: ["A=secret"] } } }, 'Expected "agents.a.env" in'],
    [{ env: { "A B": "x" } }, 'Expected "env" in'],
    [{ workspaces: { "~/x": { timeout: "1m" } } }, 'unknown in "workspaces.~/x": "timeout".'],
    [{ workspaces: { "~/x": { limits: { memory: "1m" } } } }, 'Expected "workspaces.~/x.limits.memory" in'],
    [{ agents: { a: { ...ACP, permission: "ask" } } }, 'to be "allow" or "deny".'],
    [{ agents: { a: { ...ACP, tokenBasis: "session" } } }, 'to be "turn", "thread" or "request".'],
    [{ agents: { "../a": ACP } }, "to be the name of an agent."],
  ])("refuses %j, and names the file", (content, message) => {
    const naming = expect.stringContaining(`"${file}"`);

    expect(() => load(content)).toThrow(expect.objectContaining({ code: "CONFIG_INVALID", message: naming }));
    expect(() => load(content)).toThrow(message);
  });

  it("refuses a missing file", () => {
    expect(() => loadConfigFile(join(folder, "gone.json"), "/home/me")).toThrow(
      `Cannot read the configuration file "${join(folder, "gone.json")}": ENOENT. Correct it, or name another with --config.`,
    );
  });
});

describe("a file that the configuration file names and that is missing", () => {
  it.each(["caFile", "systemPrompt", "contextSummaryPrompt"])("is reported with the place of %s", (key) => {
    writeFileSync(file, JSON.stringify({ [key]: "gone" }));

    expect(() => parseConfig({ config: file }, toSilentHost({ home: "/home/me", cwd: "/cwd" }))).toThrow(
      `There is no file "${join(folder, "gone")}" for "${key}" in "${file}". Create it, or leave the option out.`,
    );
  });
});
