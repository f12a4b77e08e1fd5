import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFakeLlm, type FakeLlm, type LoopbackServer } from "@budgie/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AGENT_PRESET_NAMES, type AgentPresetName } from "../../src/agents/agent-presets.ts";
import { listTraces } from "../helpers/engine.ts";
import { createBudgieUser, toEngineVariables, type BudgieUser } from "../helpers/start-budgie.ts";
import { PROGRAMS_IMAGE } from "./container-place.ts";
import { createModelProxy } from "./model-proxy.ts";

/** The way in which a program's user points it to a model of their own. */
type Pointing = {
  /** The variables that it reads */
  readonly env: Readonly<Record<string, string>>;
  /** The settings that it reads, below its home */
  readonly settings?: { readonly path: string; readonly content: string };
  /** The hosts that it asked for in vain, telemetry aside, and can do without */
  readonly missed?: readonly string[];
  /** The answer to all questions whether a tool may run; default budgie's own */
  readonly permission?: "deny";
};

const POINTINGS: Readonly<Partial<Record<AgentPresetName, (url: string) => Pointing>>> = {
  codex: (url) => ({
    env: { OPENAI_API_KEY: "test-key" },
    settings: {
      path: ".codex/config.toml",
      content: `model = "gpt-5.4-mini"
model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = "${url}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
`,
    },
  }),
  claude: (url) => ({ env: { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: url } }),
  copilot: (url) => ({
    env: {
      COPILOT_GITHUB_TOKEN: "test-key",
      COPILOT_OFFLINE: "true",
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_API_KEY: "test-key",
      COPILOT_MODEL: "fake",
    },
  }),
  gemini: (url) => ({ env: { GEMINI_API_KEY: "test-key", GOOGLE_GEMINI_BASE_URL: url } }),
  qwen: (url) => ({ env: { OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: "fake" } }),
  opencode: (url) => ({
    env: {},
    // For the types of plugins, which nobody writes here.
    missed: ["registry.npmjs.org"],
    settings: {
      path: ".config/opencode/opencode.json",
      content: JSON.stringify({
        model: "fake/fake",
        provider: {
          fake: {
            npm: "@ai-sdk/openai-compatible",
            options: { baseURL: `${url}/v1`, apiKey: "test-key" },
            models: { fake: {} },
          },
        },
      }),
    },
  }),
};

const NOT_RUN: Readonly<Partial<Record<AgentPresetName, string>>> = {
  "kiro-acp": "it is in no package registry, and reaches no other model than its vendor's",
};

// Its package holds a program under terms of its vendor's. Who accepts them names an image of `budgie build-image --with claude`.
const CLAUDE_IMAGE = process.env["BUDGIE_TEST_CLAUDE_IMAGE"];

type Refusal = { readonly host: string; readonly why: string };

let llm: FakeLlm;
let proxy: LoopbackServer;
beforeAll(async () => {
  llm = await createFakeLlm();
  proxy = await createModelProxy(llm);
});
afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  await llm[Symbol.asyncDispose]();
});

it("each preset is run here, or there is a reason why not", () => {
  expect([...Object.keys(POINTINGS), ...Object.keys(NOT_RUN)].toSorted()).toEqual(AGENT_PRESET_NAMES.toSorted());
});

describe.each(Object.entries(POINTINGS))("the preset %s, as budgie agents add writes it", (preset, toPointing) => {
  const image = preset === "claude" ? CLAUDE_IMAGE : PROGRAMS_IMAGE;
  const options = { timeout: 300_000, skip: image === undefined };

  it("runs a command, and says what it printed", options, async () => {
    await using user = await createBudgieUser();
    const pointing = toPointing(`https://llm.test:${llm.port}`);
    const config = await add(user, preset, pointing);
    const args = ["--sandbox-image", image ?? "", "--config", config, "--warm-idle", "0"];
    const { ask } = await user.serve({ sandbox: true, args, env: toEnv(pointing) });

    const { structuredContent } = await ask(preset, { prompt: "[[run: seq -s - 40 42 | tee seen]] [[results]]" });

    expect(structuredContent).toMatchObject({ status: "done", response: expect.stringContaining("40-41-42") });
    expect(readFileSync(join(user.workspace, "seen"), "utf8")).toBe("40-41-42\n");
    const { egress } = structuredContent as { readonly egress: { readonly denied?: readonly Refusal[] } };
    const missed = (egress.denied ?? []).filter(({ why }) => why !== "known telemetry").map(({ host }) => host);
    expect(missed).toEqual(pointing.missed ?? []);
  });

  it("is started by budgie doctor, without a prompt", options, async () => {
    await using user = await createBudgieUser();
    const pointing = toPointing(`https://llm.test:${llm.port}`);
    const config = await add(user, preset, pointing);
    const asked = llm.requests.length;

    const args = ["doctor", "--sandbox-image", image ?? "", "--config", config];
    const env = { ...toEngineVariables(), BUDGIE_ALLOW_ROOT: user.workspace, ...toEnv(pointing) };
    const { stdout } = await user.command(args, env);

    expect(stdout).toContain(`ok      agent      ${preset}: its program starts, and begins a conversation\n`);
    expect(llm.requests.slice(asked)).toEqual([]);
    expect(await listTraces(user)).toEqual([]);
  });
});

describe("the arguments that the preset codex adds in a sandbox", () => {
  it("have Codex ask before a command, and add no sandbox to one that it runs unasked", async () => {
    await using user = await createBudgieUser();
    const pointing: Pointing = { env: {}, ...POINTINGS.codex?.(`https://llm.test:${llm.port}`), permission: "deny" };
    const config = await add(user, "codex", pointing);
    const args = ["--sandbox-image", PROGRAMS_IMAGE, "--config", config, "--warm-idle", "0"];
    const { ask } = await user.serve({ sandbox: true, args, env: toEnv(pointing) });
    writeFileSync(join(user.workspace, "given"), "40-41-42\n");

    // Codex trusts a command that only reads.
    const trusted = await ask("codex", { prompt: "[[run: cat given]] [[results]]" });
    const asked = await ask("codex", { prompt: "[[run: touch seen]] [[say: I tried.]]" });

    expect(trusted.structuredContent).toMatchObject({ response: expect.stringContaining("40-41-42") });
    expect(JSON.stringify(asked)).toMatch(/refused these tools: /);
    expect(existsSync(join(user.workspace, "seen"))).toBe(false);
  }, 300_000);
});

/** Returns budgie's environment. A preset allows its vendor's hosts, which no test reaches. */
function toEnv({ env }: Pointing): Readonly<Record<string, string>> {
  return { ...env, HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` };
}

/** Has budgie write the preset into a new file, and points it to the model, which is all that the test changes. Returns the file. */
async function add(user: BudgieUser, preset: string, { env, permission, settings }: Pointing): Promise<string> {
  const config = join(user.host.home, "budgie.json");
  const added = await user.command(["agents", "add", preset, "--config", config], env);
  expect(added).toMatchObject({ exitCode: 0 });
  const { agents, ...rest } = JSON.parse(readFileSync(config, "utf8")) as {
    agents: Record<string, { env?: string[] }>;
  };
  writeFileSync(join(user.host.home, "settings"), settings?.content ?? "");
  const allowHost = [`llm.test:${llm.port}`];
  const entry = {
    ...agents[preset],
    ...(permission === undefined ? {} : { permission }),
    env: [...new Set([...(agents[preset]?.env ?? []), ...Object.keys(env)])],
    ...(settings === undefined ? {} : { home: { [settings.path]: "settings" } }),
    allowHost,
  };
  writeFileSync(config, JSON.stringify({ ...rest, caFile: llm.caFile, allowHost, agents: { [preset]: entry } }));
  return config;
}
