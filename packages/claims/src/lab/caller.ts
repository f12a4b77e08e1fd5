import { join } from "node:path";
import { text } from "node:stream/consumers";
import {
  createRunTurn,
  toGuardedPaths,
  type Agent,
  type AgentHook,
  type GuardedPath,
  type Policy,
  type Protocol,
  type Runner,
  type RunTurn,
  type TurnDependencies,
  type WorkspaceRules,
} from "@budgie/core";
import type { FakeHome } from "./fake-home.ts";

/** Of the host that calls are about, and what its user configured. */
export type CallerOptions = {
  readonly runner: Runner;
  readonly host: FakeHome;
  readonly allowedRoots?: readonly string[];
  /** Default those of the made-up home's owner */
  readonly rules?: WorkspaceRules;
  /** Hooks of the agent "guarded"; default {@link GUARDS} */
  readonly hooks?: readonly AgentHook[];
  /** Default {@link TIGHT} */
  readonly policy?: Policy;
  /** Default budgie's own */
  readonly watch?: TurnDependencies["watch"];
};

/** What the callers' agents may do. */
export const TIGHT: Policy = {
  workspace: "ro",
  egress: { mode: "none", hosts: [] },
  limits: { memoryBytes: 256 * 1024 ** 2, cpus: 1, pids: 64 },
  timeoutMs: 20_000,
};

/** The policy of agents that may write to their directory. */
export const WRITING: Policy = { ...TIGHT, workspace: "rw" };

/** Hooks that a sandbox hides if the repository has these folders. */
export const GUARDS: readonly AgentHook[] = [
  "bash .kiro/hooks/guard.sh",
  'python3 "$PWD/.kiro/hooks/guard.py"',
  ".kiro/settings/guard",
  "~/.kiro/hooks/guard.sh",
].map((command) => ({ trigger: "preToolUse", command }));

/** All of budgie behind its tools, with agents that do what their prompt says: each is a shell. */
export function createCaller(options: CallerOptions): RunTurn {
  const { allowedRoots = [], hooks = GUARDS, host, policy = TIGHT, rules, runner, watch } = options;
  const agents = ["reviewer", "writer"].map((name) => toAgent(name, host));
  agents.push({ ...toAgent("guarded", host), hooks });
  return createRunTurn({
    agents: () => agents,
    runner,
    protocol: runShell,
    policyOf: () => policy,
    watch,
    workspaceRules: rules ?? {
      allowedRoots: allowedRoots.map((path) => ({ named: path, path })),
      guarded: [...toGuarded(host), ...runner.guarded],
    },
  });
}

function toAgent(name: string, { agentsDir }: FakeHome): Agent {
  const file = join(agentsDir, `${name}.json`);
  const words = { description: "Makes probes", whenToUse: "" };
  return { name, ...words, file, promptFile: undefined, writesFiles: false, model: undefined };
}

function toGuarded(host: FakeHome): readonly GuardedPath[] {
  const sessionsDir = join(host.path, ".kiro/sub-agents/sessions");
  return toGuardedPaths({ ...host, home: host.path, sessionsDir, runtimeDir: undefined });
}

const runShell: Protocol = async ({ directory, prompt, session, signal }) => {
  const command = { argv: ["/bin/sh", "-c", prompt] as const, env: {}, projections: [] };
  const child = await session.start(command, { directory, input: "", signal });
  const [stdout, stderr, exit] = await Promise.all([text(child.stdout), text(child.stderr), child.exit]);
  return { response: stdout + stderr, file: undefined, exit, denied: [], warnings: [] };
};
