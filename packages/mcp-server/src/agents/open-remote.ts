import type { Owner, Runner, RunnerSession } from "@budgie/core";
import type { ServerConfig } from "../config/server-config.ts";

/**
 * Opens a runner for agents that run elsewhere. It starts no process: their sessions are folders with the ids of conversations, on
 * this machine even with `--sandbox`. Resolves to `undefined` if the configuration has no such agent.
 */
export async function openRemote(config: ServerConfig, owner: Owner, runner: Runner): Promise<Runner | undefined> {
  const { configuredAgents = [], kagent, sandbox } = config;
  if (kagent === undefined && configuredAgents.every(({ remote }) => remote === undefined)) return undefined;
  return withoutProcesses(sandbox ? await openFolders(config, owner) : runner);
}

async function openFolders(config: ServerConfig, owner: Owner): Promise<Runner> {
  const { createLocalRunner } = await import("@budgie/runner-local");
  const { keepSessions, sessionTtlMs, sessionsDir, stateDir } = config;
  const keepSessionsMs = keepSessions ? sessionTtlMs : undefined;
  return createLocalRunner({ sessionsDir, stateDir, owner, hostEnv: {}, keepSessionsMs });
}

function withoutProcesses(runner: Runner): Runner {
  return {
    ...runner,
    isolation: "remote",
    notices: [],
    openSession: async (id, options) => refuseStart(await runner.openSession(id, options)),
    resumeSession: async (id) => refuseStart(await runner.resumeSession(id)),
  };
}

function refuseStart(session: RunnerSession): RunnerSession {
  return {
    ...session,
    start: () => Promise.reject(new TypeError("An agent that runs elsewhere starts no process here.")),
  };
}
