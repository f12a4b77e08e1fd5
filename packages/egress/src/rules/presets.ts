import { findEntry, type AllowedHost } from "@budgie/core/egress";
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
  | "go"
  | "crates"
  | "maven"
  | "rubygems"
  | "debian";

/** The hosts that agents and registries need, without telemetry. */
export const PRESETS: Readonly<Record<PresetName, Preset>> = {
  kiro: unverified([
    "*.kiro.dev",
    "*.awsapps.com",
    ...["us-east-1", "eu-central-1"].flatMap((region) => [
      `q.${region}.amazonaws.com`,
      `codewhisperer.${region}.amazonaws.com`,
      `oidc.${region}.amazonaws.com`,
    ]),
  ]),
  codex: unverified(["api.openai.com", "auth.openai.com", "chatgpt.com"]),
  claude: unverified(["api.anthropic.com", "claude.ai", "platform.claude.com"]),
  gemini: unverified([
    "generativelanguage.googleapis.com",
    "cloudcode-pa.googleapis.com",
    "oauth2.googleapis.com",
    "aiplatform.googleapis.com",
  ]),
  qwen: unverified(["chat.qwen.ai", "portal.qwen.ai", "dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"]),
  opencode: [...unverified(["opencode.ai", "models.dev"]), { allow: "models.opencode.ai" }],
  copilot: unverified([
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
  go: unverified(["proxy.golang.org", "sum.golang.org"]),
  crates: unverified(["index.crates.io", "static.crates.io"]),
  maven: unverified(["repo.maven.apache.org", "repo1.maven.org"]),
  rubygems: unverified(["rubygems.org", "index.rubygems.org"]),
  debian: [
    { allow: "deb.debian.org" },
    { allow: "deb.debian.org:80" },
    { allow: "security.debian.org" },
    { allow: "security.debian.org:80" },
  ],
};

/** The names of the presets. */
export const PRESET_NAMES = Object.keys(PRESETS) as [PresetName, ...PresetName[]];

/** Returns a preset's hosts as allow-list entries. */
export function presetHosts(name: PresetName): readonly AllowedHost[] {
  return PRESETS[name].map(({ allow }) => parseAllowedHost(allow, `preset ${name}`));
}

/** Finds the preset that allows a host and a port; of several, the one of a registry. */
export function findPreset(target: Pick<AllowedHost, "host" | "port">): PresetName | undefined {
  const names = Object.keys(PRESETS) as PresetName[];
  return names.findLast((name) => findEntry(presetHosts(name), target) !== undefined);
}

function unverified(hosts: readonly string[]): Preset {
  return hosts.map((allow) => ({ allow, unverified: true }));
}
