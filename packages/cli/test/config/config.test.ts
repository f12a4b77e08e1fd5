import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/config/config.ts";
import { parseConfigFile } from "../../src/config/config-file.ts";
import { OPTION_KEYS } from "../../src/options/config-schema.ts";
import { toSilentHost } from "../helpers/to-silent-host.ts";

const host = toSilentHost({ home: "/home/me", cwd: "/cwd" });

const here = new URL(import.meta.url).pathname;

describe("parseConfig", () => {
  it("looks for the two prompts in the given prompts directory", () => {
    expect(parseConfig({ promptsDir: "~/prompts" }, host)).toMatchObject({
      systemPrompt: "/home/me/prompts/_system.md",
      contextSummaryPrompt: "/home/me/prompts/_context-summary.md",
    });
  });

  it.each([
    [{ sandbox: "1" }, { sandbox: true }],
    [{ sandbox: "false" }, { sandbox: false }],
    [{ trustAllTools: "0" }, { trustAllTools: false }],
    [{ sweepEvery: "0" }, { sweepEveryMs: 0 }],
    [{ sandbox: true, credentials: "full" }, { isShortProjectLogin: false }],
    [{ agentTimeout: "1h30m" }, { policies: { ceiling: { timeoutMs: 5_400_000 } } }],
    [{ workspace: "ro", sandbox: true }, { policies: { ceiling: { workspace: "ro", egress: { mode: "allowlist" } } } }],
    [{ sandbox: true, egress: "none" }, { policies: { ceiling: { egress: { mode: "none" } } } }],
    [{ kiroHarness: "v3" }, { kiroHarness: "v3", protocol: "acp" }],
    [{ kiroHarness: "v3", protocol: "acp" }, { protocol: "acp" }],
    [{ kiroHarness: "v2", protocol: "acp" }, { protocol: "acp" }],
    [{ caFile: here }, { caFile: here }],
    [{ allowRoot: ["~/code", "here"] }, { allowRoot: ["/home/me/code", "/cwd/here"] }],
    [{ toolPrefix: "" }, { toolPrefix: "" }],
    [{ kiroBinary: "./kiro" }, { kiroBinary: "/cwd/kiro" }],
    [{ kiroBinary: "~/bin/kiro" }, { kiroBinary: "/home/me/bin/kiro" }],
    [{ kiroBinary: "./kiro", sandbox: true }, { kiroBinary: "./kiro" }],
    [{ systemPrompt: here }, { systemPrompt: here }],
    [
      { sanitize: "0", maxPromptBytes: "0", maxAnswerBytes: "5" },
      { sanitize: false, maxPromptBytes: 0, maxAnswerBytes: 5 },
    ],
    [
      { keepAnswers: "no", keepTranscripts: "yes", keepRuns: "12h", maxRunsBytes: "1000000" },
      { keepAnswers: false, keepTranscripts: true, retention: { maxAgeMs: 43_200_000, maxBytes: 1_000_000 } },
    ],
    [{ keepRuns: "0", maxRunsBytes: "0" }, { retention: { maxAgeMs: undefined, maxBytes: undefined } }],
    [{ maxTurnsPerMinute: ["30"] }, { maxTurnsPerMinute: { all: 30, agents: new Map() } }],
    [
      { maxTurnsPerMinute: ["a=5", "b=c=1", "9"] },
      {
        maxTurnsPerMinute: {
          all: 9,
          agents: new Map([
            ["a", 5],
            ["b=c", 1],
          ]),
        },
      },
    ],
    [{ maxConcurrent: "8", maxQueued: "0" }, { turnLimits: { concurrent: 8, queued: 0 } }],
    [{ maxTurnsPerMinute: ["a=5", "30", "a=0", "0"] }, { maxTurnsPerMinute: { all: undefined, agents: new Map() } }],
  ])("accepts %j", (values, expected) => {
    expect(parseConfig(values, host)).toMatchObject(expected);
  });

  it.each([
    [
      { kiroHarness: "v3", protocol: "cli" },
      'Expected --protocol (or BUDGIE_PROTOCOL) to be "acp" or left out, got "cli": --kiro-harness (or BUDGIE_KIRO_HARNESS) is "v3", which needs ACP.',
    ],
    [{ kiroHarness: "v1" }, 'Expected --kiro-harness (or BUDGIE_KIRO_HARNESS) to be "v2" or "v3", got "v1".'],
    [{ sandbox: "perhaps" }, 'Expected --sandbox (or BUDGIE_SANDBOX) to be "true" or "false", got "perhaps".'],
    [{ sandbox: "" }, 'Expected --sandbox (or BUDGIE_SANDBOX) to be "true" or "false", got "".'],
    [{ agentsDir: "" }, 'Expected --agents-dir (or BUDGIE_AGENTS_DIR) to be a path, got "".'],
    [{ model: "--resume" }, 'Expected --model (or BUDGIE_MODEL) to be the name of a model, or "auto", got "--resume".'],
    [
      { credentials: "some" },
      'Expected --credentials (or BUDGIE_CREDENTIALS) to be "full", "access-token", "api-key" or "none", got "some".',
    ],
    [
      { acceptWeaker: ["limits", "users"] },
      'Expected --accept-weaker (or BUDGIE_ACCEPT_WEAKER) to be one of limits, seccomp, ulimits, policy, jail, own-node, got "users".',
    ],
    [
      { runtime: "run sc" },
      'Expected --runtime (or BUDGIE_RUNTIME) to be the name of a runtime, such as runsc, got "run sc".',
    ],
    [{ env: ["A", "B C"] }, 'Expected --env (or BUDGIE_ENV) to be the name of a variable, got "B C".'],
    [
      { toolPrefix: "my agents/" },
      'Expected --tool-prefix (or BUDGIE_TOOL_PREFIX) to be at most 60 letters, digits, "_", "-" and ".", got "my agents/".',
    ],
    [{ toolNames: "Safe" }, 'Expected --tool-names (or BUDGIE_TOOL_NAMES) to be "dotted" or "safe", got "Safe".'],
    [{ tools: "all" }, 'Expected --tools (or BUDGIE_TOOLS) to be "agents", "router" or "both", got "all".'],
    [
      { maxPromptBytes: "400k" },
      'Expected --max-prompt-bytes (or BUDGIE_MAX_PROMPT_BYTES) to be a number of bytes, or 0 for no limit, got "400k".',
    ],
    [
      { maxTurnsPerMinute: ["30", "reviewer="] },
      'Expected --max-turns-per-minute (or BUDGIE_MAX_TURNS_PER_MINUTE) to be a number, or an agent and its number such as "code-reviewer=5", got "reviewer=".',
    ],
    [
      { maxConcurrent: "0" },
      'Expected --max-concurrent (or BUDGIE_MAX_CONCURRENT) to be a whole number of at least 1, got "0".',
    ],
    [{ maxQueued: "-1" }, 'Expected --max-queued (or BUDGIE_MAX_QUEUED) to be a whole number, got "-1".'],
    [
      { egress: "some" },
      'Expected --egress (or BUDGIE_EGRESS) to be one of none, allowlist, open, bridge, got "some".',
    ],
    [
      { allowPreset: ["npm", "cargo"] },
      'Expected --allow-preset (or BUDGIE_ALLOW_PRESET) to be one of kiro, codex, claude, gemini, qwen, opencode, copilot, github, npm, pypi, go, crates, maven, rubygems, debian, got "cargo".',
    ],
    [
      { sandbox: true, allowHost: ["10.0.0.1"] },
      'Cannot allow the host "10.0.0.1" (--allow-host): an address is not a name; name it, and pin the name to the address. Write NAME[:PORT][=ADDRESS], such as "example.com", "*.example.com:8443" or "db.example.com=10.0.0.5".',
    ],
    [{ egress: "bridge" }, "Without --sandbox nothing can enforce --egress. Add --sandbox, or leave it out."],
    [{ allowHost: ["a.test"] }, "Without --sandbox nothing can enforce --allow-host. Add --sandbox, or leave it out."],
    [{ allowPreset: ["npm"] }, "Without --sandbox nothing can enforce --allow-preset. Add --sandbox, or leave it out."],
    [
      { caFile: "gone.pem" },
      'There is no file "/cwd/gone.pem" for --ca-file (or BUDGIE_CA_FILE). Create it, or leave the option out.',
    ],
    [
      { sweepEvery: "often" },
      'Expected --sweep-every (or BUDGIE_SWEEP_EVERY) to be a duration such as "90s", "10m" or "1h30m", got "often".',
    ],
    [
      { agentTimeout: "15" },
      'Expected --agent-timeout (or BUDGIE_AGENT_TIMEOUT) to be a duration such as "90s", "10m" or "1h30m", got "15".',
    ],
    [{ agentTimeout: "0s" }, 'Expected --agent-timeout (or BUDGIE_AGENT_TIMEOUT) to be longer than 0, got "0s".'],
    [
      { systemPrompt: "gone.md" },
      'There is no file "/cwd/gone.md" for --system-prompt (or BUDGIE_SYSTEM_PROMPT). Create it, or leave the option out.',
    ],
    [
      { contextSummaryPrompt: "~/gone.md" },
      'There is no file "/home/me/gone.md" for --context-summary-prompt (or BUDGIE_CONTEXT_SUMMARY_PROMPT). Create it, or leave the option out.',
    ],
  ])("refuses %j", (values, message) => {
    expect(() => parseConfig(values, host)).toThrow(expect.objectContaining({ code: "CONFIG_INVALID", message }));
  });
});

describe("the access to directories", () => {
  const there = { ...host, env: { DOCKER_HOST: "ssh://me@there" } };

  it.each([
    [{ sandbox: true }, there, "copy"],
    [{ sandbox: true, workspace: "rw" }, there, "rw"],
    [{ sandbox: true }, { ...host, env: { DOCKER_HOST: "unix:///run/docker.sock" } }, "rw"],
    [{ sandbox: true }, { ...host, env: { DOCKER_HOST: "no address" } }, "rw"],
    [{}, there, "rw"],
  ])("of %j at %o is %s", (values, at, workspace) => {
    expect(parseConfig(values, at).policies.ceiling.workspace).toBe(workspace);
  });
});

describe("the command of notify", () => {
  const place = { file: "/here/budgie.json", home: "/home/me" };

  it.each([
    [["./bell", "./word"], "/here/bell"],
    [["~/bell", "./word"], "/home/me/bell"],
    [["bell", "./word"], "bell"],
  ])("%j has the program %s, and its words as they are", (notify, program) => {
    expect(parseConfigFile({ notify }, place).notify).toEqual([program, "./word"]);
  });

  it("has a program, and is in the file alone", () => {
    expect(() => parseConfigFile({ notify: [] }, place)).toThrow(/"notify" in .* to be a list of at least a program\./);
    expect(() => parseConfigFile({ workspaces: { "/a": { notify: ["bell"] } } }, place)).toThrow(/unknown .*"notify"/);
    expect(OPTION_KEYS).not.toContain("notify");
  });
});
