import type { PresetName } from "@budgie/egress/allow-list";

/** A program that budgie knows how to run as an agent; docs/agents.md has the evidence. */
export type AgentPreset = {
  readonly description: string;
  /** The program, which speaks ACP with these arguments */
  readonly command: string;
  readonly args: readonly string[];
  /** More arguments in a sandbox of budgie's; left out if there are none */
  readonly sandboxArgs?: readonly string[];
  /** The variables that it needs if its user has no login files */
  readonly env: readonly string[];
  /** The files with its login, below the user's home; left out where none is known */
  readonly login?: readonly string[];
  /** The hosts of its vendor */
  readonly allowPreset: PresetName;
  /** The npm package of the program, with its version; left out if there is none */
  readonly npm?: string;
  /** `budgie`: its turns are tests of budgie; `terms`: only where its vendor's terms are accepted; `no`: known only from documentation */
  readonly tried: "budgie" | "terms" | "no";
};

/** The presets of `budgie agents add`, by name. */
export const AGENT_PRESETS = {
  codex: {
    description: "Writes and reviews code with Codex.",
    command: "codex-acp",
    args: [],
    // Its own sandbox needs namespaces, which budgie's refuses. Without it, only this policy has Codex ask before it runs a command.
    sandboxArgs: ["-c", 'sandbox_mode="danger-full-access"', "-c", 'approval_policy="untrusted"'],
    env: ["OPENAI_API_KEY"],
    login: [".codex/auth.json"],
    allowPreset: "codex",
    npm: "@zed-industries/codex-acp@0.16.0",
    tried: "budgie",
  },
  claude: {
    description: "Writes and reviews code with Claude Code.",
    command: "claude-agent-acp",
    args: [],
    env: ["ANTHROPIC_API_KEY"],
    login: [".claude/.credentials.json"],
    allowPreset: "claude",
    npm: "@agentclientprotocol/claude-agent-acp@0.49.0",
    tried: "terms",
  },
  gemini: {
    description: "Writes and reviews code with Gemini CLI.",
    command: "gemini",
    args: ["--acp"],
    env: ["GEMINI_API_KEY"],
    login: [".gemini/oauth_creds.json"],
    allowPreset: "gemini",
    npm: "@google/gemini-cli@0.61.0",
    tried: "budgie",
  },
  qwen: {
    description: "Writes and reviews code with Qwen Code.",
    command: "qwen",
    args: ["--acp", "--auth-type", "openai"],
    env: ["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"],
    allowPreset: "qwen",
    npm: "@qwen-code/qwen-code@0.15.10",
    tried: "budgie",
  },
  opencode: {
    description: "Writes and reviews code with opencode.",
    command: "opencode",
    args: ["acp"],
    // Each of its many providers has a variable of its own.
    env: [],
    login: [".local/share/opencode/auth.json"],
    allowPreset: "opencode",
    npm: "opencode-ai@1.18.33",
    tried: "budgie",
  },
  copilot: {
    description: "Writes and reviews code with Copilot CLI.",
    command: "copilot",
    args: ["--acp"],
    env: ["COPILOT_GITHUB_TOKEN"],
    allowPreset: "copilot",
    npm: "@github/copilot@1.0.102",
    tried: "budgie",
  },
  "kiro-acp": {
    description: "Writes and reviews code with Kiro's default agent.",
    command: "kiro-cli",
    // V3, which a later Kiro may begin otherwise, asks nobody before it uses a tool. An older one without the flag does not start.
    args: ["acp", "--agent-engine", "v2"],
    env: ["KIRO_API_KEY"],
    allowPreset: "kiro",
    tried: "no",
  },
} as const satisfies Readonly<Record<string, AgentPreset>>;

export type AgentPresetName = keyof typeof AGENT_PRESETS;

export const AGENT_PRESET_NAMES = Object.keys(AGENT_PRESETS) as readonly AgentPresetName[];
