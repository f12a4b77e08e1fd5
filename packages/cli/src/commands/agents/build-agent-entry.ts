import { existsSync } from "node:fs";
import { join } from "node:path";
import { presetHosts } from "@budgie/egress/allow-list";
import { allowsHost } from "@budgie/core";
import type { AgentPreset } from "../../agents/agent-presets.ts";
import type { Config } from "../../config/config.ts";
import type { Host } from "@budgie/mcp-server";
import type { Entry } from "../install/config-format.ts";

/** Returns a preset's section of the configuration file. In a sandbox it reaches only its vendor's hosts. */
export function buildAgentEntry(
  preset: AgentPreset,
  config: Pick<Config, "policies" | "sandbox">,
  host: LoginHost,
): Entry {
  const { allowPreset, args, command, description, sandboxArgs } = preset;
  const { policies, sandbox } = config;
  return {
    protocol: "acp",
    description,
    command,
    ...(args.length === 0 ? {} : { args }),
    ...(sandboxArgs === undefined ? {} : { sandboxArgs }),
    ...findLogin(preset, config, host),
    ...(sandbox && policies.ceiling.egress.mode !== "none" ? { allowPreset: [allowPreset] } : {}),
  };
}

/** Returns the keys that log the program in: its variables or, if none of them is set, its existing login files. */
function findLogin({ env, login = [] }: AgentPreset, { sandbox }: Pick<Config, "sandbox">, host: LoginHost): Entry {
  const files = login.filter((path) => existsSync(join(host.home, path)));
  if (files.length === 0 || env.some((name) => host.env[name])) return env.length === 0 ? {} : { env };
  // Without a sandbox the program has the user's own home.
  return sandbox ? { home: Object.fromEntries(files.map((path) => [path, `~/${path}`])) } : {};
}

type LoginHost = Pick<Host, "env" | "home">;

/**
 * Returns the keys that a file with this content needs besides the section. A section can only tighten, so the vendor's hosts must
 * be allowed for all agents. An empty file gets the sandbox.
 */
export function findSharedKeys(preset: AgentPreset, { policies, sandbox }: Config, content: Entry): Entry {
  if (!sandbox) return {};
  const { egress } = policies.ceiling;
  const isAllowed = presetHosts(preset.allowPreset).every((entry) => allowsHost(egress, entry));
  const given = (content["allowPreset"] ?? []) as readonly string[];
  return {
    ...(egress.mode !== "allowlist" || isAllowed ? {} : { allowPreset: [...given, preset.allowPreset] }),
    ...(Object.keys(content).length === 0 ? { sandbox: true } : {}),
  };
}
