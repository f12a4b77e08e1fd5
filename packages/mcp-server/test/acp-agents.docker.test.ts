import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createFakeLlm, type FakeLlm } from "@budgie/testkit";
import { listTraces } from "./helpers/engine.ts";
import { createBudgieUser, TEST_IMAGE, toText, type BudgieUser } from "./helpers/start-budgie.ts";

const PROGRAMS_IMAGE = process.env["BUDGIE_TEST_PROGRAMS_IMAGE"] ?? "budgie-programs:latest";

let llm: FakeLlm;
beforeAll(async () => {
  llm = await createFakeLlm();
});
afterAll(async () => {
  await llm[Symbol.asyncDispose]();
});

const PROGRAMS = {
  Codex: () => ({
    command: "sh",
    args: [
      "-c",
      `mkdir -p ~/.codex
      cat >~/.codex/config.toml <<END
model = "gpt-5.4-mini"
model_provider = "fake"
approval_policy = "untrusted"
sandbox_mode = "danger-full-access"
[model_providers.fake]
name = "fake"
base_url = "https://llm.test:${llm.port}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
END
      exec /opt/programs/node_modules/@zed-industries/codex-acp-linux-*/bin/codex-acp`,
    ],
    env: ["OPENAI_API_KEY"],
  }),
  "Qwen Code": () => ({
    command: "sh",
    args: [
      "-c",
      `mkdir -p ~/.qwen
      echo '{ "model": { "generationConfig": { "maxRetries": 0 } }, "security": { "auth": { "selectedType": "openai" } } }' >~/.qwen/settings.json
      exec qwen --acp --auth-type openai --openai-base-url https://llm.test:${llm.port}/v1 --model fake`,
    ],
    env: ["OPENAI_API_KEY"],
  }),
};

describe.each(Object.entries(PROGRAMS))("%s over ACP, in a sandbox that reaches only its model", (_, toProgram) => {
  it("writes a file, and remembers it in a new container", async () => {
    await using user = await createBudgieUser();
    const { ask } = await startWith(user, { coder: { protocol: "acp", description: "Codes.", ...toProgram() } });

    const first = await ask("coder", {
      prompt: "Remember token-parrot. [[write /workspace/hello.txt: by ACP]] [[say: It is written.]]",
    });
    expect(first).toMatchObject({
      structuredContent: { response: "It is written.", isolation: "container", denied: [] },
    });
    expect(readFileSync(join(user.workspace, "hello.txt"), "utf8")).toBe("by ACP");
    const { sessionId } = first.structuredContent as { sessionId: string };

    const second = await ask("coder", { sessionId, prompt: "[[recall]]" });
    expect(second.structuredContent).toMatchObject({ response: "token-parrot", sessionId });
  });

  it("is cancelled in the middle of a tool call, and leaves nothing", async () => {
    const user = await createBudgieUser();
    const { ask, client } = await startWith(user, {
      coder: { protocol: "acp", description: "Codes.", ...toProgram() },
    });
    const cancelling = new AbortController();
    const running = ask("coder", { prompt: "[[run: touch /workspace/began; tail -f /dev/null]]" }, cancelling.signal);
    running.catch(() => undefined);
    await expect
      .poll(() => {
        try {
          return readFileSync(join(user.workspace, "began"), "utf8");
        } catch {
          return undefined;
        }
      })
      .toBe("");

    cancelling.abort();
    await expect(running).rejects.toThrow();
    await client.close();
    await user[Symbol.asyncDispose]();

    expect(await listTraces(user)).toEqual([]);
  });

  it("sees no definition of an agent that the repository has for its program", async () => {
    await using user = await createBudgieUser();
    for (const folder of [".codex", ".qwen"]) mkdirSync(join(user.workspace, folder));
    writeFileSync(join(user.workspace, ".qwen/settings.json"), '{ "mcpServers": { "evil": { "command": "true" } } }');
    writeFileSync(join(user.workspace, ".codex/config.toml"), "model = 'evil'");
    writeFileSync(join(user.workspace, ".mcp.json"), '{ "mcpServers": { "evil": { "command": "true" } } }');
    const { ask } = await startWith(user, { coder: { protocol: "acp", description: "Codes.", ...toProgram() } });
    const command = "cd /workspace; { ls -A .qwen .codex; cat .mcp.json; } >seen 2>&1";

    await ask("coder", { prompt: `[[run: ${command}]] [[say: Done.]]` });

    expect(readFileSync(join(user.workspace, "seen"), "utf8")).toBe('.codex:\n\n.qwen:\n{ "mcpServers": {} }\n');
    expect(readFileSync(join(user.workspace, ".codex/config.toml"), "utf8")).toContain("evil");
  });

  it("is denied its tools by the policy, which the result says", async () => {
    await using user = await createBudgieUser();
    const { ask } = await startWith(user, {
      coder: { protocol: "acp", description: "Codes.", permission: "deny", ...toProgram() },
    });

    const result = await ask("coder", { prompt: "[[write /workspace/hello.txt: by ACP]] [[say: I tried.]]" });

    // Codex then ends its turn without a word, and Qwen Code goes on.
    expect(JSON.stringify(result)).toMatch(/refused these tools: .*hello\.txt/);
    expect(() => readFileSync(join(user.workspace, "hello.txt"))).toThrow("ENOENT");
  });

  it("reports an error of its model", async () => {
    await using user = await createBudgieUser();
    const { ask } = await startWith(user, { coder: { protocol: "acp", description: "Codes.", ...toProgram() } });

    const result = await ask("coder", { prompt: "[[fail: 400]]" });

    expect(result).toMatchObject({ isError: true, structuredContent: { code: "AGENT_FAILED" } });
    expect(toText(result)).toContain("told to fail");
  });
});

describe("an agent with files for its home and an image of its own", () => {
  it("finds its settings there, and does not change the user's", async () => {
    await using user = await createBudgieUser();
    const settings = join(user.host.home, "codex.toml");
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
      image: PROGRAMS_IMAGE,
    };
    const { ask } = await startWith(user, { coder }, TEST_IMAGE);

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

    expect(result).toMatchObject({ isError: true, structuredContent: { code: "CONFIG_INVALID" } });
    expect(toText(result)).toContain(`"${planted}", which the agent "coder"`);
  });
});

async function startWith(user: BudgieUser, agents: Readonly<Record<string, unknown>>, image = PROGRAMS_IMAGE) {
  const config = join(user.host.home, "budgie.json");
  writeFileSync(config, JSON.stringify({ caFile: llm.caFile, allowHost: [`llm.test:${llm.port}=127.0.0.1`], agents }));
  return user.start({
    sandbox: true,
    args: ["--sandbox-image", image, "--config", config, "--warm-idle", "0"],
    env: { OPENAI_API_KEY: "test-key" },
  });
}
