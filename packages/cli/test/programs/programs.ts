import { expect } from "vitest";

/** An npm program that speaks ACP, at the version in `docker/programs/package.json`. */
export type Program = {
  /** The folders below `node_modules` that it consists of */
  readonly packages: readonly string[];
  /**
   * A shell script that writes the program's settings below `$HOME`, and executes it. The packages are in `$PROGRAMS`, the model is at
   * `$BASE_URL`, and the key is `$OPENAI_API_KEY`.
   */
  readonly script: string;
  /** Name of the file that its processes run */
  readonly executable: string;
  /** Returns the cost of a turn with so many requests to the model, of which each has the counts of `createFakeLlm` */
  readonly toUsage: (requests: number) => object;
};

const ARCHITECTURE = process.arch;

export const PROGRAMS = {
  Codex: {
    packages: [`@zed-industries/codex-acp-linux-${ARCHITECTURE}`],
    executable: "codex-acp",
    toUsage: () => ({ contextUsed: 15, contextSize: expect.any(Number) }),
    script: `mkdir -p ~/.codex
      cat >~/.codex/config.toml <<END
model = "gpt-5.4-mini"
model_provider = "fake"
approval_policy = "untrusted"
sandbox_mode = "danger-full-access"
[model_providers.fake]
name = "fake"
base_url = "$BASE_URL"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
END
      exec "$PROGRAMS"/@zed-industries/codex-acp-linux-*/bin/codex-acp`,
  },
  "Qwen Code": {
    packages: ["@qwen-code/qwen-code"],
    executable: "node",
    toUsage: (requests) => toTokens("turn", requests),
    script: `mkdir -p ~/.qwen
      cat >~/.qwen/settings.json <<END
{
  "model": { "generationConfig": { "maxRetries": 0 } },
  "security": { "auth": { "selectedType": "openai" } },
  "privacy": { "usageStatisticsEnabled": false },
  "general": { "disableAutoUpdate": true }
}
END
      export QWEN_CODE_NO_RELAUNCH=1
      exec node "$PROGRAMS/@qwen-code/qwen-code/cli.js" --acp --auth-type openai --openai-base-url "$BASE_URL" --model fake`,
  },
  "Gemini CLI": {
    packages: ["@google/gemini-cli"],
    executable: "node",
    // Cached tokens are part of the input, and thoughts are missing.
    toUsage: (requests) => ({
      basis: "turn",
      model: "gemini-2.5-flash",
      inputTokens: 10 * requests,
      outputTokens: 3 * requests,
    }),
    script: `mkdir -p ~/.gemini
      cat >~/.gemini/settings.json <<END
{
  "general": { "disableAutoUpdate": true },
  "privacy": { "usageStatisticsEnabled": false },
  "security": { "auth": { "selectedType": "gemini-api-key" } }
}
END
      export GEMINI_API_KEY="$OPENAI_API_KEY" GOOGLE_GEMINI_BASE_URL="\${BASE_URL%/v1}" GEMINI_CLI_NO_RELAUNCH=true
      # Without it, a model chooses the model before every prompt, and is asked without end if it does not exist.
      export GEMINI_MODEL=gemini-2.5-flash
      exec node "$PROGRAMS/@google/gemini-cli/bundle/gemini.js" --acp`,
  },
  opencode: {
    packages: [`opencode-linux-${ARCHITECTURE === "x64" ? "x64-baseline" : ARCHITECTURE}`],
    executable: "opencode",
    toUsage: () => toTokens("request", 1),
    script: `mkdir -p ~/.config/opencode
      cat >~/.config/opencode/opencode.json <<END
{
  "autoupdate": false,
  "share": "disabled",
  "snapshot": false,
  "model": "fake/fake",
  "permission": { "edit": "ask", "bash": "ask" },
  "provider": {
    "fake": {
      "npm": "@ai-sdk/openai-compatible",
      "name": "Fake",
      "options": { "baseURL": "$BASE_URL", "apiKey": "{env:OPENAI_API_KEY}" },
      "models": { "fake": { "name": "Fake" } }
    }
  }
}
END
      export OPENCODE_DISABLE_MODELS_FETCH=1 OPENCODE_DISABLE_DEFAULT_PLUGINS=1 OPENCODE_DISABLE_LSP_DOWNLOAD=1
      exec "$PROGRAMS"/opencode-linux-*/bin/opencode acp`,
  },
} as const satisfies Readonly<Record<string, Program>>;

function toTokens(basis: "request" | "turn", requests: number): object {
  const one = { inputTokens: 6, cachedTokens: 4, outputTokens: 5, thoughtTokens: 2, totalTokens: 15 };
  return { basis, ...Object.fromEntries(Object.entries(one).map(([name, count]) => [name, count * requests])) };
}
