import { realpathSync } from "node:fs";
import { BudgieError, toGuardedPaths, type AllowedRoot, type Runner, type WorkspaceRules } from "@budgie/core";
import type { Config } from "../config/config.ts";
import type { Host } from "../process/host.ts";

/** Loads the rules for directories of calls. Throws `CONFIG_INVALID` for an allowed root that does not exist. */
export function loadWorkspaceRules(
  config: Config,
  { env, home }: Pick<Host, "env" | "home">,
  runner: Runner,
): WorkspaceRules {
  return {
    allowedRoots: toAllowedRoots(config),
    // Without a sandbox an agent reaches these paths anyway; refusing them would only pretend protection.
    guarded:
      runner.isolation === "container"
        ? [...toGuardedPaths({ ...config, home, runtimeDir: env["XDG_RUNTIME_DIR"] }), ...runner.guarded]
        : undefined,
  };
}

/** Resolves the allowed roots. Throws `CONFIG_INVALID` for one that does not exist. */
export function toAllowedRoots({ allowRoot }: Pick<Config, "allowRoot">): readonly AllowedRoot[] {
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
