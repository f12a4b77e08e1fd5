import { realpathSync } from "node:fs";
import { BudgieError, toGuardedPaths, type AllowedRoot, type Runner, type WorkspaceRules } from "@budgie/core";
import type { Config } from "../config/config.ts";
import type { Host } from "../process/host.ts";

/** Says which directories calls may name, or throws `CONFIG_INVALID` for an allowed root that is not there. */
export function loadWorkspaceRules(
  config: Config,
  { env, home }: Pick<Host, "env" | "home">,
  runner: Runner,
): WorkspaceRules {
  return {
    allowedRoots: config.allowRoot.map(resolveRoot),
    // Without a sandbox an agent reaches all of this anyway, and to refuse it would only look like a wall.
    guarded:
      runner.isolation === "container"
        ? [...toGuardedPaths({ ...config, home, runtimeDir: env["XDG_RUNTIME_DIR"] }), ...runner.guarded]
        : undefined,
  };
}

/** Once and for all: an agent that may write beside a root that is a link could turn it elsewhere. */
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
