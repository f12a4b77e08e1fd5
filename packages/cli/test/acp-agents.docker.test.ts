import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createFakeLlm, type FakeLlm } from "@budgie/testkit";
import { createBudgieUser, TEST_IMAGE, toText, type BudgieUser } from "./helpers/start-budgie.ts";

const PROGRAMS_IMAGE = process.env["BUDGIE_TEST_PROGRAMS_IMAGE"] ?? "budgie-programs:latest";

let llm: FakeLlm;
beforeAll(async () => {
  llm = await createFakeLlm();
});
afterAll(async () => {
  await llm[Symbol.asyncDispose]();
});

describe("an agent with files for its home and an image of its own", () => {
  it("finds its settings there, and does not change the user's", async () => {
    await using user = await createBudgieUser();
    const { coder, content, settings } = writeCodex(user);
    const { ask } = await startWith(user, { coder: { ...coder, image: PROGRAMS_IMAGE } }, TEST_IMAGE);

    const result = await ask("coder", { prompt: "[[run: echo '# mine' >>~/.codex/config.toml]] [[say: Changed.]]" });

    expect(result.structuredContent).toMatchObject({ response: "Changed.", isolation: "container" });
    expect(readFileSync(settings, "utf8")).toBe(content);
  });

  it("is refused if a file lies in the directory that it works in", async () => {
    await using user = await createBudgieUser();
    const planted = join(user.workspace, "auth.json");
    const home = { ".codex/auth.json": planted };
    const { ask } = await startWith(user, { coder: { protocol: "acp", description: "Codes.", command: "sh", home } });

    const result = await ask("coder", { prompt: "Hello" });

    expect(result).toMatchObject({ isError: true, structuredContent: { code: "WORKSPACE_INVALID" } });
    expect(toText(result)).toContain(`holds an agent's login ("${planted}"), which a sandbox is never given`);
  });
});

it("a program whose settings begin in a mode without questions is denied its tools", { timeout: 300_000 }, async () => {
  await using user = await createBudgieUser();
  const config = join(user.host.home, "budgie.json");
  const args = ["--acp", "--auth-type", "openai", "--approval-mode", "yolo"];
  const env = { OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: `https://llm.test:${llm.port}/v1`, OPENAI_MODEL: "fake" };
  const qwen = {
    protocol: "acp",
    description: "Codes.",
    command: "qwen",
    args,
    env: Object.keys(env),
    permission: "deny",
  };
  const allowHost = [`llm.test:${llm.port}=127.0.0.1`];
  writeFileSync(config, JSON.stringify({ caFile: llm.caFile, allowHost, agents: { qwen } }));
  const { ask } = await user.serve({
    sandbox: true,
    args: ["--sandbox-image", PROGRAMS_IMAGE, "--config", config, "--warm-idle", "0"],
    env,
  });

  const result = await ask("qwen", { prompt: "[[run: touch seen]] [[say: I tried.]]" });

  expect(JSON.stringify(result)).toMatch(/refused these tools: /);
  expect(existsSync(join(user.workspace, "seen"))).toBe(false);
});

describe("an agent program in a sandbox", () => {
  it("sees no definition of an agent that the repository has for its program", async () => {
    await using user = await createBudgieUser();
    for (const folder of [".codex", ".github", ".qwen"]) mkdirSync(join(user.workspace, folder));
    writeFileSync(join(user.workspace, ".github/mcp.json"), '{ "mcpServers": { "evil": { "command": "true" } } }');
    writeFileSync(join(user.workspace, ".github/lsp.json"), '{ "lspServers": { "evil": { "command": "true" } } }');
    writeFileSync(join(user.workspace, ".github/dependabot.yml"), "version: 2\n");
    writeFileSync(join(user.workspace, ".qwen/settings.json"), '{ "mcpServers": { "evil": { "command": "true" } } }');
    writeFileSync(join(user.workspace, ".codex/config.toml"), "model = 'evil'");
    writeFileSync(join(user.workspace, ".mcp.json"), '{ "mcpServers": { "evil": { "command": "true" } } }');
    const { ask } = await startWith(user, { coder: writeCodex(user).coder });
    const command = "cd /workspace; { ls -A .qwen .codex .github; cat .mcp.json .github/*.json; } >seen 2>&1";

    await ask("coder", { prompt: `[[run: ${command}]] [[say: Done.]]` });

    expect(readFileSync(join(user.workspace, "seen"), "utf8")).toBe(
      `.codex:\n\n.github:\ndependabot.yml\nlsp.json\nmcp.json\n\n.qwen:\n{ "mcpServers": {} }\n{ "lspServers": {} }\n{ "mcpServers": {} }\n`,
    );
    expect(readFileSync(join(user.workspace, ".codex/config.toml"), "utf8")).toContain("evil");
  });
});

/** Writes a user's settings of Codex, and returns the agent that gets them. */
function writeCodex({ host }: BudgieUser) {
  const settings = join(host.home, "codex.toml");
  const content = `model = "gpt-5.4-mini"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.fake]
name = "fake"
base_url = "https://llm.test:${llm.port}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
`;
  writeFileSync(settings, content, { mode: 0o400 });
  const coder = {
    protocol: "acp",
    description: "Codes.",
    command: "codex-acp",
    env: ["OPENAI_API_KEY"],
    home: { ".codex/config.toml": "codex.toml" },
  };
  return { coder, content, settings };
}

async function startWith(user: BudgieUser, agents: Readonly<Record<string, unknown>>, image = PROGRAMS_IMAGE) {
  const config = join(user.host.home, "budgie.json");
  writeFileSync(config, JSON.stringify({ caFile: llm.caFile, allowHost: [`llm.test:${llm.port}=127.0.0.1`], agents }));
  return user.serve({
    sandbox: true,
    args: ["--sandbox-image", image, "--config", config, "--warm-idle", "0"],
    env: { OPENAI_API_KEY: "test-key" },
  });
}
