import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { kiroCliPath } from "@budgie/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createBudgieUser, type BudgieUser } from "../helpers/start-budgie.ts";
import { startCallingModel, type CallingModel } from "./calling-model.ts";
import { runProgram, toInteropPath } from "./clients.ts";

const CODEX = process.env["BUDGIE_CODEX"];
const PROMPT = "Have the code reviewer keep a word, and ask for it.";

let user: BudgieUser;
let model: CallingModel;
beforeAll(async () => {
  user = await createBudgieUser();
  model = await startCallingModel(user.workspace);
});
afterAll(async () => {
  await model[Symbol.asyncDispose]();
  await user[Symbol.asyncDispose]();
});

describe("Gemini CLI, which shows its model only texts", () => {
  it("resumes a session by the id in the last text", async () => {
    write(".gemini/settings.json", JSON.stringify({ security: { auth: { selectedType: "gemini-api-key" } } }));
    await install("gemini");

    const { stdout } = await runProgram(
      [toInteropPath("node_modules/@google/gemini-cli/bundle/gemini.js"), "--yolo", "-p", PROMPT],
      {
        cwd: user.workspace,
        env: {
          HOME: user.host.home,
          GEMINI_API_KEY: "none",
          GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1:${model.port}`,
          GEMINI_MODEL: "gemini-2.5-flash",
          GEMINI_CLI_TRUST_WORKSPACE: "true",
        },
      },
    );

    expect(model.shown[0]).toContain("[budgie] To resume this conversation, pass sessionId");
    expect(model.shown[0]).not.toContain("durationMs");
    expect(stdout).toMatch(/The agent answered: .*token-parakeet/);
  });
});

describe.skipIf(CODEX === undefined)("Codex, which shows its model only structured content", () => {
  it("resumes a session by the id there", async () => {
    const provider = `name = "model"\nbase_url = "http://127.0.0.1:${model.port}/v1"\nwire_api = "responses"\n`;
    write(".codex/config.toml", `model = "m"\nmodel_provider = "m"\n\n[model_providers.m]\n${provider}`);
    await install("codex");

    const argv = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", PROMPT];
    const env = { HOME: user.host.home };
    const { stdout } = await runProgram(argv, { cwd: user.workspace, env, node: CODEX ?? "" });

    expect(model.shown[0]).toContain("durationMs");
    expect(model.shown[0]).not.toContain("[budgie]");
    expect(stdout).toMatch(/The agent answered: .*token-parakeet/);
  });
});

function write(path: string, content: string): void {
  const file = join(user.host.home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

async function install(client: string): Promise<void> {
  const { exitCode, stderr } = await user.command([
    "install",
    client,
    "--",
    "--no-sandbox",
    "--kiro-binary",
    kiroCliPath,
  ]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
}
