import { realpathSync } from "node:fs";
import { BudgieError, type Runner } from "@budgie/core";
import { findBellFiles } from "@budgie/core/bell";
import { listGuardedPaths, type AllowedRoot, type UserPaths, type WorkspaceRules } from "@budgie/core/policy";
import type { ServerConfig } from "../config/server-config.ts";
import { resolvePath, findKiroFolder } from "../config/host-paths.ts";
import type { Host } from "../process/host.ts";

/** Loads the rules for directories of calls. Throws `CONFIG_INVALID` for an allowed root that does not exist. */
export function loadWorkspaceRules(
  config: ServerConfig,
  host: Pick<Host, "cwd" | "env" | "home">,
  runner: Runner,
): WorkspaceRules {
  const { env, home } = host;
  return {
    home,
    allowedRoots: resolveAllowedRoots(config),
    // Without a sandbox an agent reaches these paths anyway; refusing them would only pretend protection.
    guarded:
      runner.isolation === "container"
        ? [
            ...listGuardedPaths({ ...config, ...listSettings(config, host), home, runtimeDir: env["XDG_RUNTIME_DIR"] }),
            ...runner.guarded,
          ]
        : undefined,
  };
}

/** Lists the files that budgie reads as configuration, wherever the user keeps them. */
function listSettings(
  config: ServerConfig,
  host: Pick<Host, "cwd" | "env" | "home">,
): Pick<UserPaths, "kiroDir" | "settings"> {
  const logins = (config.configuredAgents ?? []).flatMap(({ program }) => Object.values(program?.home ?? {}));
  const { files: bell } = findBellFiles(config.notify ?? [], { home: host.home, path: host.env["PATH"] });
  const files = [
    [config.config && resolvePath(config.config, host), "budgie's configuration"],
    [config.mcpRegistry, "the registry of MCP servers"],
    [config.caFile, "the certificates of --ca-file"],
    [config.httpTokenFile, "the token of --http-token-file"],
    [config.systemPrompt, "the system prompt"],
    [config.contextSummaryPrompt, "a prompt"],
    ...bell.map((path) => [path, 'what "notify" runs'] as const),
    ...logins.map((path) => [path, "an agent's login"] as const),
  ] as const;
  return {
    kiroDir: findKiroFolder(host),
    settings: files.flatMap(([path, what]) => (path === undefined ? [] : [{ path, what, settings: "file" } as const])),
  };
}

/** Resolves the allowed roots. Throws `CONFIG_INVALID` for one that does not exist. */
export function resolveAllowedRoots({ allowRoot }: Pick<ServerConfig, "allowRoot">): readonly AllowedRoot[] {
  return allowRoot.map(resolveRoot);
}

/** Resolves a root once: an agent that can write beside a symlinked root could point it elsewhere later. */
function resolveRoot(root: string): AllowedRoot {
  try {
    return { named: root, path: realpathSync.native(root) };
  } catch (cause) {
    throw new BudgieError(
      "CONFIG_INVALID",
      `There is no directory "${root}" for --allow-root (${(cause as NodeJS.ErrnoException).code}). Create it, or leave it out.`,
      { cause },
    );
  }
}
