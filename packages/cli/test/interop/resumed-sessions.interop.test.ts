import { mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createBudgieUser, TEST_IMAGE, toEngineVariables, type BudgieUser } from "../helpers/start-budgie.ts";
import { startCallingModel, type CallingModel } from "./calling-model.ts";
import { runProgram, toInteropPath } from "./clients.ts";

const PROMPT = "Have the worker keep a word, and ask for it.";

// A program without a sandbox would ask its vendor for updates and plugins.
const NO_VENDOR = { HTTPS_PROXY: "http://127.0.0.1:9", NO_PROXY: "127.0.0.1" };

let user: BudgieUser;
let model: CallingModel;
beforeAll(async () => {
  user = await createBudgieUser();
  writeFileSync(join(user.workspace, ".env"), "TOKEN=secret");
  model = await startCallingModel(user.workspace);
});
afterAll(async () => {
  await model[Symbol.asyncDispose]();
  await user[Symbol.asyncDispose]();
});

describe("Gemini CLI, which shows its model only texts", () => {
  it("resumes a session by the id in the last text, which also tells of the copy", async () => {
    write(".gemini/settings.json", JSON.stringify({ security: { auth: { selectedType: "gemini-api-key" } } }));
    await install("gemini");

    const { stderr, stdout } = await runProgram(
      [toInteropPath("node_modules/@google/gemini-cli/bundle/gemini.js"), "--yolo", "-p", PROMPT],
      {
        cwd: user.workspace,
        env: {
          HOME: user.host.home,
          GEMINI_API_KEY: "none",
          GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1:${model.port}`,
          GEMINI_MODEL: "gemini-2.5-flash",
          GEMINI_CLI_TRUST_WORKSPACE: "true",
          ...NO_VENDOR,
        },
      },
    );

    expect(stdout, stderr).toMatch(/The agent answered: .*token-parakeet/);
    expect(model.shown[0]).toContain("[budgie] To resume this conversation, pass sessionId");
    expect(model.shown[0]).not.toContain("durationMs");
    expect(model.shown[0]).toMatch(/Its changes wait as changeId \W+[0-9a-f]{64}\W+: 1 added\./);
    expect(model.shown[0]).toMatch(/The copy: .*\.env/);
    expect(model.shown[2]).toMatch(/\+made.*reviewToken/);
  });
});

describe("Codex, which shows its model only structured content", () => {
  it("resumes a session by the id there, and shows the copy", async () => {
    const provider = `name = "model"\nbase_url = "http://127.0.0.1:${model.port}/v1"\nwire_api = "responses"\n`;
    write(".codex/config.toml", `model = "m"\nmodel_provider = "m"\n\n[model_providers.m]\n${provider}`);
    await install("codex");

    const codex = toInteropPath("node_modules/@openai/codex/bin/codex.js");
    const { stderr, stdout } = await runProgram(
      [codex, "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", PROMPT],
      { cwd: user.workspace, env: { HOME: user.host.home, ...NO_VENDOR } },
    );

    expect(stdout, stderr).toMatch(/The agent answered: .*token-parakeet/);
    expectStructured(model.shown);
  });
});

// Its program is under terms of its vendor's. Who accepts them names it.
const CLAUDE = process.env["BUDGIE_TEST_CLAUDE"];

describe.skipIf(CLAUDE === undefined)("Claude Code, which shows its model only structured content", () => {
  it("resumes a session by the id there, and shows the copy", async () => {
    write(".claude.json", JSON.stringify({ hasCompletedOnboarding: true }));
    await install("claude");

    const { stderr, stdout } = await runProgram(["-p", PROMPT, "--allowedTools", "mcp__kiro-subagents"], {
      node: CLAUDE ?? "",
      cwd: user.workspace,
      env: {
        HOME: user.host.home,
        ANTHROPIC_API_KEY: "none",
        ANTHROPIC_BASE_URL: `http://127.0.0.1:${model.port}`,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        ENABLE_TOOL_SEARCH: "false",
        ...NO_VENDOR,
      },
    });

    expect(stdout, stderr).toMatch(/The agent answered: .*token-parakeet/);
    expectStructured(model.shown);
  });
});

/** Expects what such a client shows of an agent's first result, and of its changes. */
function expectStructured([first, , changes]: readonly string[]): void {
  expect(first).toContain("durationMs");
  expect(first).not.toContain("[budgie]");
  expect(first).toMatch(/\W+changes\W+changeId\W+[0-9a-f]{64}\W+added\W+1\W/);
  expect(first).toMatch(/leftOut.*\.env/);
  expect(changes).toMatch(/\+made.*reviewToken/);
}

function write(path: string, content: string): void {
  const file = join(user.host.home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

/** Installs budgie in a client, with agents that work on copies of the directory. */
async function install(client: string): Promise<void> {
  // It leaves alone what other tests have left on the engine.
  const config = { sandbox: true, sandboxImage: TEST_IMAGE, allowRoot: [tmpdir()], workspace: "copy", sweepEvery: "0" };
  write("budgie.json", JSON.stringify(config));
  const argv = ["install", client, "--", "--config", join(user.host.home, "budgie.json")];
  const { exitCode, stderr } = await user.command(argv, toEngineVariables());
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
}
