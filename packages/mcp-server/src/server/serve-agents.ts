import {
  createKiroProtocol,
  createOutputFiles,
  createRunTurn,
  createSessionStore,
  HEALTH_RUNS,
  toHealthReport,
  toSharedProjections,
  toTurnLimits,
  type TextLimits,
  type KiroOptions,
  type OutputFiles,
  type Owner,
  type Runner,
  type SessionStore,
} from "@budgie/core";
import { createRunLog, createSessionRegister } from "@budgie/store";
import { createAgentCatalog, toCatalogOptions } from "../agents/agent-catalog.ts";
import type { Config } from "../config/config.ts";
import { createToolServer } from "./create-tool-server.ts";
import { createClients } from "./create-clients.ts";
import { findNesting } from "./find-nesting.ts";
import { createAgentPoll } from "../agents/agent-poll.ts";
import type { Host } from "../process/host.ts";
import type { HttpOptions } from "../config/http-options.ts";
import { loadTools } from "../agents/load-tools.ts";
import { createConnection } from "../mcp/connection/connection.ts";
import { toInstructions } from "../mcp/tools/instructions.ts";
import { toSandboxSecrets } from "../config/sandbox-options.ts";
import type { Shutdown } from "../process/shutdown.ts";
import { sweepGarbage } from "../garbage/sweep.ts";
import { createSweeper } from "../garbage/sweeper.ts";
import { startupMessages } from "./startup-messages.ts";
import { checkTurnRates } from "../config/turn-rate-limits.ts";
import { loadVersion } from "../process/version.ts";
import { loadWorkspaceRules } from "./workspace-rules.ts";

/** The parts that serving needs. */
export type Serving = {
  readonly config: Config;
  readonly host: Host;
  /** `undefined` for stdio */
  readonly http: HttpOptions | undefined;
  readonly shutdown: Shutdown;
  readonly owner: Owner;
  readonly runner: Runner;
};

/** Serves the agents with this runner until the program exits. Rejects if the start fails. */
export async function serveAgents({ config, host, http, owner, runner, shutdown }: Serving): Promise<never> {
  const first = loadTools(config, host);
  const catalog = createAgentCatalog(toCatalogOptions(first, config, host));

  const { keepAnswers, retention, stateDir } = config;
  const register = createSessionRegister({ stateDir, report: host.report });
  if (config.keepSessions) await register.check();
  const keepMs = config.keepSessions ? config.sessionTtlMs : undefined;
  const sessions = createSessionStore(runner, { register, owner, keepMs });
  const runLog = createRunLog({ stateDir, owner, report: host.report, keepAnswers, retention });
  const outputFiles = createOutputFiles({ stateDir, maxAgeMs: retention.maxAgeMs });
  const nesting = findNesting(host.env, config.maxDepth);
  const runTurn = createRunTurn({
    agents: catalog.agents,
    runner,
    nesting,
    retry: config.retry,
    protocol: createKiroProtocol(toKiroOptions(config, host, outputFiles)),
    textLimits: toTextLimits(config),
    protectExecutablePaths: config.protectExecutablePaths,
    maxTurnsPerMinute: checkTurnRates(config.maxTurnsPerMinute, first.loaded.agents),
    turnLimits: toTurnLimits(config.turnLimits, runner.capacity),
    policyOf: (agent) => config.policies.agents.get(agent) ?? config.policies.ceiling,
    workspaceRules: loadWorkspaceRules(config, host, runner),
    runLog,
    sessions,
  });
  const sweeper = createSweeper({
    sweeps: [
      () => expireSessions(sessions, config),
      () => sweepGarbage(runner, register, owner),
      () => pruneOutputs(outputFiles),
    ],
    report: host.report,
    intervalMs: config.sweepEveryMs,
  });
  const createTools = createClients(config, {
    tools: catalog.tools,
    runTurn,
    sessions,
    // Clients over HTTP must not see each other's sessions.
    areApart: http !== undefined,
    async health() {
      const agents = catalog.agents().map(({ name }) => name);
      const runs = await runLog.recent({ limit: HEALTH_RUNS });
      return toHealthReport(runs, { agents, isolation: runner.isolation, showErrors: http === undefined });
    },
    onCall: sweeper.begin,
    report: host.report,
  });
  const [version, instructions] = [loadVersion(), toInstructions(config.tools)];
  const shared = { createTools, version, instructions, heartbeatMs: config.heartbeatMs, report: host.report };
  const server = await createToolServer({
    http,
    host,
    version,
    connect: (transport, onClientClosed) =>
      createConnection({ ...shared, transport, onClientClosed, onDelivery: (runs, state) => void runLog[state](runs) }),
    onClientClosed: shutdown.begin,
  });
  const poll = createAgentPoll({
    hasChanged: catalog.hasChanged,
    onChange: () => void (catalog.settle() && server.notifyToolListChanged()),
    report: host.report,
  });

  shutdown.onBegin(async () => {
    poll.close();
    sweeper.stop();
    await Promise.allSettled([server.close(), runner.close()]);
    // A call that had just begun may have opened its session meanwhile.
    await runner.close();
    await sessions.close();
    register.close();
    runLog.close();
    await owner.release();
  });
  for (const line of startupMessages({ config, runner, nesting, toolCount: catalog.tools().length })) host.report(line);
  await server.start();
  poll.start();
  return shutdown.ended;
}

async function expireSessions(sessions: SessionStore, { sessionTtlMs }: Config): Promise<readonly string[]> {
  await sessions.expireIdle(sessionTtlMs);
  return [];
}

async function pruneOutputs(files: OutputFiles): Promise<readonly string[]> {
  files.prune();
  return [];
}

function toTextLimits({ maxAnswerBytes, maxPromptBytes, sanitize }: Config): TextLimits {
  return { maxAnswerBytes, maxPromptBytes, sanitize };
}

function toKiroOptions(config: Config, { env, home }: Host, outputFiles: OutputFiles): KiroOptions {
  return {
    binary: config.kiroBinary,
    defaultModel: config.model,
    trustAllTools: config.trustAllTools,
    prompts: { system: config.systemPrompt, contextSummary: config.contextSummaryPrompt },
    // Without a sandbox the agent inherits Kiro's variables.
    env: config.sandbox ? toSandboxSecrets(config.credentials, env) : {},
    projections: toSharedProjections(home, config.promptsDir),
    outputFiles,
    verbose: config.verbose,
  };
}
