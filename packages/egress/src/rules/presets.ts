import type { AllowedHost } from "@budgie/core/egress";
import { parseAllowedHost } from "./parse-allowed-host.ts";

/** The hosts that one agent or one registry needs. */
export type Preset = readonly PresetEntry[];

export type PresetEntry = {
  /** Format of `--allow-host` */
  readonly allow: string;
  /** Taken from documents and reports only; the program was not observed using it */
  readonly unverified?: true;
};

export type PresetName =
  | "kiro"
  | "codex"
  | "claude"
  | "gemini"
  | "qwen"
  | "opencode"
  | "copilot"
  | "github"
  | "npm"
  | "pypi"
  | "debian";

/** The hosts that agents and registries need, without telemetry. */
export const PRESETS: Readonly<Record<PresetName, Preset>> = {
  kiro: toUnverified([
    "*.kiro.dev",
    "*.awsapps.com",
    ...["us-east-1", "eu-central-1"].flatMap((region) => [
      `q.${region}.amazonaws.com`,
      `codewhisperer.${region}.amazonaws.com`,
      `oidc.${region}.amazonaws.com`,
    ]),
  ]),
  codex: toUnverified(["api.openai.com", "auth.openai.com", "chatgpt.com"]),
  claude: toUnverified(["api.anthropic.com", "claude.ai", "platform.claude.com"]),
  gemini: toUnverified([
    "generativelanguage.googleapis.com",
    "cloudcode-pa.googleapis.com",
    "oauth2.googleapis.com",
    "aiplatform.googleapis.com",
  ]),
  qwen: toUnverified(["chat.qwen.ai", "portal.qwen.ai", "dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"]),
  opencode: toUnverified(["opencode.ai", "models.dev"]),
  copilot: toUnverified([
    "*.githubcopilot.com",
    "copilot-proxy.githubusercontent.com",
    "origin-tracker.githubusercontent.com",
    "api.github.com",
    "github.com",
  ]),
  github: [
    { allow: "github.com" },
    { allow: "api.github.com" },
    { allow: "codeload.github.com" },
    { allow: "uploads.github.com" },
    { allow: "raw.githubusercontent.com" },
    { allow: "objects.githubusercontent.com" },
    { allow: "release-assets.githubusercontent.com", unverified: true },
    { allow: "github-cloud.githubusercontent.com", unverified: true },
  ],
  npm: [{ allow: "registry.npmjs.org" }],
  pypi: [{ allow: "pypi.org" }, { allow: "files.pythonhosted.org" }],
  debian: [
    { allow: "deb.debian.org" },
    { allow: "deb.debian.org:80" },
    { allow: "security.debian.org" },
    { allow: "security.debian.org:80" },
  ],
};

/** Returns a preset's hosts as allow-list entries. */
export function presetHosts(name: PresetName): readonly AllowedHost[] {
  return PRESETS[name].map(({ allow }) => parseAllowedHost(allow, `preset ${name}`));
}

function toUnverified(hosts: readonly string[]): Preset {
  return hosts.map((allow) => ({ allow, unverified: true }));
}
