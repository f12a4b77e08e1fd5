import { realpathSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { BudgieError, type GuardedPath, type Runner, type WorkspaceRules } from "@budgie/core";
import type { Config } from "./config.ts";
import type { Host } from "./host.ts";

/** Says which directories calls may name, or throws `CONFIG_INVALID` for an allowed root that is not there. */
export function toWorkspaceRules(config: Config, host: Pick<Host, "env" | "home">, runner: Runner): WorkspaceRules {
  return {
    allowedRoots: config.allowRoot.map(resolveRoot),
    // Without a sandbox an agent reaches all of this anyway, and to refuse it would only look like a wall.
    guarded: runner.isolation === "container" ? [...toGuarded(config, host), ...runner.guarded] : [],
  };
}

/** Once and for all: an agent that may write beside a root that is a link could turn it elsewhere. */
function resolveRoot(root: string): string {
  try {
    return realpathSync.native(root);
  } catch (cause) {
    throw new BudgieError(
      "CONFIG_INVALID",
      `There is no directory "${root}" for --allow-root (${(cause as NodeJS.ErrnoException).code}). Create it, or leave it out.`,
      { cause },
    );
  }
}

// Mounted into a container, they show the host's processes and their secrets, its settings and its devices.
const SYSTEM = ["/proc", "/sys", "/dev"];

function toGuarded(config: Config, { env, home }: Pick<Host, "env" | "home">): readonly GuardedPath[] {
  const { agentsDir, kiroDataDir, promptsDir, sessionsDir, stateDir } = config;
  const runtimeDir = env["XDG_RUNTIME_DIR"] ?? "";
  return [
    { path: home, what: "your home directory", mayHoldWorkspaces: true },
    { path: join(home, ".kiro"), what: "Kiro's settings and sessions" },
    { path: join(home, ".ssh"), what: "your SSH keys" },
    { path: join(home, ".aws"), what: "your AWS credentials" },
    { path: join(home, ".gnupg"), what: "your GnuPG keys" },
    { path: agentsDir, what: "the agents' files" },
    { path: promptsDir, what: "the agents' prompt files" },
    { path: kiroDataDir, what: "Kiro's login and conversations" },
    { path: stateDir, what: "budgie's own state" },
    { path: sessionsDir, what: "budgie's session folders" },
    ...(isAbsolute(runtimeDir) ? [{ path: runtimeDir, what: "the sockets of your login" }] : []),
    ...SYSTEM.map((path) => ({ path, what: "the system's own view of this machine" })),
  ];
}
