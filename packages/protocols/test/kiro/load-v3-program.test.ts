import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createSessionId, loadAgents } from "@budgie/core";
import { KIRO_HIDDEN_PATHS } from "@budgie/core/policy";
import { TurnEvents, type ProtocolTurn } from "@budgie/core/protocol";
import type { KiroOptions } from "@budgie/protocols/kiro";
import type { KiroFlags } from "../../src/kiro/help/kiro-flags.ts";
import { createFakeRunner, failureOf } from "@budgie/testkit";
import { loadV3Program } from "../../src/kiro/load-v3-program.ts";

const LISTED: KiroFlags["acp"] = { hasV2: true, engines: ["v2", "v3"] };
const FLAGS: KiroFlags = { chat: LISTED, acp: LISTED, hasRuntime: true };
const FILE = { name: "reader", description: "sub-agent: Reads.", prompt: "You read.", tools: ["read"] };

/** Creates a home with one agent, and asks for its program. */
function createPlace(file: object = {}, files: Readonly<Record<string, string>> = {}) {
  const root = mkdtempSync(join(tmpdir(), "budgie-v3-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const [home, directory] = [join(root, "home"), join(root, "work")];
  mkdirSync(directory);
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  write("home/.kiro/agents/reader.json", JSON.stringify({ ...FILE, ...file }));
  for (const [path, text] of Object.entries(files)) write(path, text);
  const [agent] = loadAgents({ agentsDir: join(home, ".kiro/agents"), promptsDir: join(home, "prompts") }).agents;
  if (agent === undefined) throw new Error("The agent is not loaded.");

  async function find(options: Partial<KiroOptions> = {}) {
    const session = await createFakeRunner(() => ({})).openSession(createSessionId());
    const turn: ProtocolTurn = {
      agent: agent as ProtocolTurn["agent"],
      session,
      directory,
      prompt: "Read.",
      resume: false,
      timeoutMs: 60_000,
      signal: undefined,
      events: new TurnEvents(),
    };
    return loadV3Program({ ...OPTIONS, sandboxHome: home, ...options }, turn);
  }
  return { home, find, agent };
}

const OPTIONS: KiroOptions = {
  binary: "kiro-cli",
  harness: "v3",
  model: undefined,
  defaultModel: "claude-default",
  trustAllTools: false,
  prompts: { system: "/nowhere/_system.md", contextSummary: "/nowhere/_context-summary.md" },
  env: { KIRO_API_KEY: "key" },
  projections: [{ source: "/shared", home: ".kiro/steering" }],
  findFlags: async () => FLAGS,
  verbose: false,
};

describe("loadV3Program", () => {
  it("sends the agent, and shows no file of its definition", async () => {
    const { find } = createPlace();
    const { kiro, mode, ...program } = await find();

    expect(program).toEqual({
      command: {
        argv: ["kiro-cli", "acp", "--agent-engine", "v3", "--auth-method", "cli"],
        env: {
          KIRO_API_KEY: "key",
          KIRO_SKIP_BINARY_PINNING: "1",
          KIRO_AGENT_CONFIG_DIR: expect.stringMatching(/^\/homes\/.*\/\.kiro\/agents$/),
        },
        projections: OPTIONS.projections,
        login: "kiro",
        hidden: KIRO_HIDDEN_PATHS,
      },
      permission: "deny",
      model: "claude-default",
    });
    expect(kiro).toMatchObject({ harness: "v3", agent: { id: mode, prompt: "You read.", tools: ["read"] } });
  });

  it("sends the agent as its file is now", async () => {
    const { find, home } = createPlace();
    const before = await find();
    writeFileSync(join(home, ".kiro/agents/reader.json"), JSON.stringify({ ...FILE, prompt: "You read well." }));
    const now = await find();

    expect(now.kiro).toMatchObject({ agent: { prompt: "You read well." } });
    expect(now.mode).not.toBe(before.mode);
  });

  it("asks for the model of the agent's file, which V3 may ignore there", async () => {
    expect(await createPlace({ model: "claude-own" }).find()).toMatchObject({ model: "claude-own" });
    expect(await createPlace({ model: "claude-own" }).find({ model: "claude-x" })).toMatchObject({ model: "claude-x" });
  });

  it("lets an agent use every tool only with trustAllTools", async () => {
    expect(await createPlace().find({ trustAllTools: true })).toMatchObject({ permission: "allow" });
  });

  it.each<[string, string, string]>([
    ["beside its file", "file://./reader.md", "home/.kiro/agents/reader.md"],
    ["in a folder of ~/.kiro", "file://../texts/reader.md", "home/.kiro/texts/reader.md"],
  ])("sends a prompt %s as text, and not as a file", async (_where, prompt, path) => {
    const { find } = createPlace({ prompt }, { [path]: "You read files." });
    const { command, kiro } = await find();

    expect(kiro).toMatchObject({ agent: { prompt: "You read files." } });
    expect(command.projections).toEqual(OPTIONS.projections);
  });

  it("shows the other files that the agent names", async () => {
    const { find, home } = createPlace(
      { resources: ["file://~/.kiro/rules/one.md", "file://README.md"] },
      { "home/.kiro/rules/one.md": "One." },
    );
    const { command, kiro } = await find();

    expect(command.projections).toContainEqual({
      source: join(home, ".kiro/rules/one.md"),
      home: ".kiro/rules/one.md",
    });
    expect(kiro).toMatchObject({ agent: { resources: ["file://~/.kiro/rules/one.md", "file://README.md"] } });
  });

  it("does not read a prompt that a sandbox would not show", async () => {
    const place = createPlace({ prompt: "file://../settings/mcp.json" }, { "home/.kiro/settings/mcp.json": "a token" });

    const error = await failureOf(place.find());

    expect(error).toMatchObject({ code: "AGENT_NOT_FOUND", message: expect.stringContaining("does not show") });
    expect(error.message).not.toContain("a token");
  });

  it.each<[string, Partial<KiroOptions>, string, RegExp]>([
    ["whose help cannot be read", { findFlags: async () => undefined }, "COMMAND_NOT_FOUND", /could not be read/],
    ["without help to ask", { findFlags: undefined }, "COMMAND_NOT_FOUND", /could not be read/],
    [
      "that lists no harness",
      { findFlags: async () => ({ ...FLAGS, acp: { hasV2: false, engines: undefined } }) },
      "CONFIG_INVALID",
      /does not list Kiro's V3 harness/,
    ],
    [
      "that lists others",
      { findFlags: async () => ({ ...FLAGS, acp: { hasV2: true, engines: ["v1", "v2"] } }) },
      "CONFIG_INVALID",
      /does not list Kiro's V3 harness/,
    ],
    [
      "that is not unpacked in the sandbox's image",
      { findFlags: async () => ({ ...FLAGS, hasRuntime: false }) },
      "CONFIG_INVALID",
      /where no agent can write/,
    ],
  ])("refuses a program %s", async (_what, ...[options, code, message]) => {
    expect(await failureOf(createPlace().find(options))).toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
  });

  it("needs no unpacked harness without a sandbox", async () => {
    const findFlags = async (): Promise<KiroFlags> => ({ ...FLAGS, hasRuntime: false });

    expect(await createPlace().find({ sandboxHome: undefined, findFlags })).toMatchObject({ permission: "deny" });
  });

  it("refuses an agent whose hooks guard its tools", async () => {
    const { find } = createPlace({ hooks: { preToolUse: [{ command: "guard" }] } });

    expect(await failureOf(find())).toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringMatching(/"reader" cannot run on Kiro's V3 harness: its hooks guard its tools/),
    });
  });

  it("refuses a file that is no agent any more", async () => {
    const { agent, find } = createPlace();
    writeFileSync(agent.file, "{");

    expect(await failureOf(find())).toMatchObject({ code: "AGENT_NOT_FOUND" });
  });

  it.each<[string, string]>([
    ["the user's", "home/.kiro/settings/mcp.json"],
    ["the repository's", "work/.kiro/settings/mcp.json"],
  ])("without a sandbox, refuses to start budgie again by %s settings", async (_whose, path) => {
    const { find, home } = createPlace({}, { [path]: '{ "mcpServers": { "budgie": { "command": "budgie" } } }' });
    const options = { sandboxHome: undefined, kiroFolder: join(home, ".kiro") };

    expect(await failureOf(find(options))).toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining("budgie again among them"),
    });
    expect(await find()).toMatchObject({ permission: "deny" });
  });

  it("without a sandbox, refuses settings that are too large to look for budgie in", async () => {
    const { find, home } = createPlace({}, { "home/.kiro/settings/mcp.json": " ".repeat(2 ** 20 + 1) });

    expect(await failureOf(find({ sandboxHome: undefined, kiroFolder: join(home, ".kiro") }))).toMatchObject({
      code: "CONFIG_INVALID",
    });
  });

  it("without a sandbox, starts beside settings that do not name budgie", async () => {
    const { find, home } = createPlace({}, { "home/.kiro/settings/mcp.json": '{ "mcpServers": { "git": {} } }' });

    expect(await find({ sandboxHome: undefined, kiroFolder: join(home, ".kiro") })).toMatchObject({
      permission: "deny",
    });
  });
});
