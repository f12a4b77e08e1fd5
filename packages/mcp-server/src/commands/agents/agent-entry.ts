import { presetHosts } from "@budgie/egress/allow-list";
import { allowsHost } from "@budgie/core";
import type { AgentPreset } from "../../agents/agent-presets.ts";
import type { Config } from "../../config/config.ts";
import type { Entry } from "../install/config-format.ts";

/** Returns a preset's section of the configuration file. In a sandbox it reaches its vendor's hosts alone. */
export function toAgentEntry(preset: AgentPreset, { policies, sandbox }: Pick<Config, "policies" | "sandbox">): Entry {
  const { allowPreset, args, command, description, env } = preset;
  const hosts = sandbox && policies.ceiling.egress.mode !== "none" ? { allowPreset: [allowPreset] } : {};
  return {
    protocol: "acp",
    description,
    command,
    ...(args.length === 0 ? {} : { args }),
    ...(env.length === 0 ? {} : { env }),
    ...hosts,
  };
}

/**
 * Returns the keys that a file with this content needs beside the section. A section can only tighten, so that the vendor's hosts
 * have to be allowed for all. An empty file chooses the sandbox.
 */
export function toSharedKeys(preset: AgentPreset, { policies, sandbox }: Config, content: Entry): Entry {
  if (!sandbox) return {};
  const { egress } = policies.ceiling;
  const isAllowed = presetHosts(preset.allowPreset).every((entry) => allowsHost(egress, entry));
  const given = (content["allowPreset"] ?? []) as readonly string[];
  return {
    ...(egress.mode !== "allowlist" || isAllowed ? {} : { allowPreset: [...given, preset.allowPreset] }),
    ...(Object.keys(content).length === 0 ? { sandbox: true } : {}),
  };
}
