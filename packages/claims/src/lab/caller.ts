import { join } from "node:path";
import { text } from "node:stream/consumers";
import { BudgieError, createRunTurn, type Agent, type Runner, type RunTurn } from "@budgie/core";
import type { AgentHook } from "@budgie/core/agents";
import {
  KIRO_HIDDEN_PATHS,
  listGuardedPaths,
  type GuardedPath,
  type Policy,
  type WorkspaceRules,
} from "@budgie/core/policy";
import type { Protocol } from "@budgie/core/protocol";
import type { TurnDependencies } from "@budgie/core/turn";
import type { FakeHome } from "./fake-home.ts";

/** The host that calls are about, and its user's configuration. */
export type CallerOptions = {
  readonly runner: Runner;
  readonly host: FakeHome;
  readonly allowedRoots?: readonly string[];
  /** Defaults to the rules of the fake home's owner */
  readonly rules?: WorkspaceRules;
  /** Hooks of the agent "guarded". Defaults to {@link GUARDS} */
  readonly hooks?: readonly AgentHook[];
  /** Defaults to {@link TIGHT} */
  readonly policy?: Policy;
  /** Defaults to budgie's own */
  readonly watch?: TurnDependencies["watch"];
};

/** The policy of the callers' agents. */
export const TIGHT: Policy = {
  workspace: "ro",
  egress: { mode: "none", hosts: [] },
  limits: { memoryBytes: 256 * 1024 ** 2, cpus: 1, pids: 64 },
  timeoutMs: 20_000,
};

/** The policy of agents that may write to their directory. */
export const WRITING: Policy = { ...TIGHT, workspace: "rw" };

/** Hooks whose files a sandbox hides if the repository has these folders. */
export const GUARDS: readonly AgentHook[] = [
  "bash .kiro/hooks/guard.sh",
  'python3 "$PWD/.kiro/hooks/guard.py"',
  ".kiro/settings/guard",
  "~/.kiro/hooks/guard.sh",
].map((command) => ({ trigger: "preToolUse", command }));

/** Creates the whole of budgie behind a tool call. Its agents are shells that run their prompt. */
export function createCaller(options: CallerOptions): RunTurn {
  const { allowedRoots = [], hooks = GUARDS, host, policy = TIGHT, rules, runner, watch } = options;
  const agents = ["reviewer", "writer"].map((name) => makeAgent(name, host));
  agents.push({ ...makeAgent("guarded", host), hooks });
  return createRunTurn({
    agents: () => agents,
    runner,
    protocol: runShell,
    policyOf: () => policy,
    watch,
    workspaceRules: rules ?? {
      allowedRoots: allowedRoots.map((path) => ({ named: path, path })),
      guarded: [...listGuarded(host), ...runner.guarded],
    },
  });
}

function makeAgent(name: string, { agentsDir }: FakeHome): Agent {
  const file = join(agentsDir, `${name}.json`);
  const words = { description: "Makes probes", whenToUse: "" };
  return { name, ...words, file, promptFile: undefined, writesFiles: false, model: undefined, hasModel: false };
}

function listGuarded(host: FakeHome): readonly GuardedPath[] {
  const sessionsDir = join(host.path, ".kiro/sub-agents/sessions");
  return listGuardedPaths({ ...host, home: host.path, sessionsDir, runtimeDir: undefined });
}

const runShell: Protocol = async ({ directory, prompt, session, signal }) => {
  const command = { argv: ["/bin/sh", "-c", prompt] as const, env: {}, projections: [], hidden: KIRO_HIDDEN_PATHS };
  const child = await session.start(command, { directory, input: "", signal });
  const [stdout, stderr, exit] = await Promise.all([text(child.stdout), text(child.stderr), child.exit]);
  const response = stdout + stderr;
  // A shell that failed before it printed anything attacked nothing.
  if (response === "" && exit.exitCode !== 0) {
    throw new BudgieError("AGENT_CRASHED", `The agent failed: ${exit.reason ?? exit.signal ?? exit.exitCode}.`);
  }
  return { response, file: undefined, exit, denied: [], warnings: [] };
};
