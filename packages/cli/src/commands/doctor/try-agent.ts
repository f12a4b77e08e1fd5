import { mkdtemp, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSessionId, type Agent, type Runner } from "@budgie/core";
import type { Config } from "../../config/config.ts";
import type { Host } from "@budgie/mcp-server";
import { findNesting, nestingVariables } from "@budgie/core/policy";
import { buildProgram, findPolicy, findProvided, findWorkspace } from "@budgie/mcp-server/commands";

// A person waits, and a program from npm takes ten seconds on a busy machine.
const TIMEOUT_MS = 30_000;

type Trial = {
  readonly config: Pick<Config, "agentEnv" | "env" | "maxDepth" | "policies" | "sandbox" | "workspaces">;
  readonly host: Pick<Host, "env">;
  readonly runner: Runner;
  readonly signal: AbortSignal;
};

/**
 * Starts an agent's program as its turns do, with its policy, and in an empty directory. Stops it before any prompt, and removes its
 * session. Throws what a turn would throw.
 */
export async function tryAgent(agent: Agent, { config, host, runner, signal }: Trial): Promise<void> {
  // Imported late, since most users have only Kiro's agents.
  const { tryProgram } = await import("@budgie/protocols/acp");
  const { removeTree } = await import("@budgie/runner-local");
  const directory = await realpath(await mkdtemp(join(tmpdir(), "budgie-trial-")));
  try {
    const session = await runner.openSession(createSessionId(), { isKept: false });
    try {
      const program = buildProgram(agent, directory, config);
      const { egress, limits, workspace } = findPolicy(config, agent.name);
      const provided = findProvided(config, { agent, workspace: findWorkspace(config, directory), env: host.env });
      const access = { egress, limits, workspace };
      const env = {
        ...provided.env,
        ...program.command.env,
        ...nestingVariables(findNesting(host.env, config.maxDepth)),
      };
      const marked = { ...program, command: { ...program.command, needsPrograms: true, env } };
      await tryProgram({
        agent: agent.name,
        program: marked,
        session,
        directory,
        access,
        signal,
        timeoutMs: TIMEOUT_MS,
      });
    } finally {
      await session.remove();
    }
  } finally {
    await removeTree(directory);
  }
}
