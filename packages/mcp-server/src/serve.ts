import {
  createKiroProtocol,
  createOutputFiles,
  createOwner,
  createRunTurn,
  createSessionBook,
  HEALTH_RUNS,
  isTooDeep,
  toHealthReport,
  toSharedProjections,
  toTurnLimits,
  BudgieError,
  type Agent,
  type HealthOptions,
  type Hygiene,
  type KiroOptions,
  type Runner,
  type SessionBook,
  type TurnRateLimits,
} from "@budgie/core";
import { createRunLog, createSessionRegister } from "@budgie/store";
import { createAgentShelf } from "./agent-shelf.ts";
import type { Config } from "./config.ts";
import { createRunner } from "./create-runner.ts";
import { createToolServer } from "./create-tool-server.ts";
import { findDepth } from "./find-depth.ts";
import type { Host } from "./host.ts";
import { loadHttpOptions } from "./http-options.ts";
import { loadTools } from "./load-tools.ts";
import { createConnection, type Client } from "./mcp/connection.ts";
import { toInstructions } from "./mcp/instructions.ts";
import { toLongCallTools } from "./mcp/long-call-tools.ts";
import { toSoftDeadlineMs } from "./mcp/soft-deadline.ts";
import { createToolbox, type Toolbox } from "./mcp/toolbox.ts";
import { withLongCalls } from "./mcp/with-long-calls.ts";
import { toSandboxSecrets } from "./sandbox-secrets.ts";
import type { Policies } from "./policies.ts";
import { createSessionOwners } from "./session-owners.ts";
import { createShutdown } from "./shutdown.ts";
import { sweepGarbage } from "./sweep-garbage.ts";
import { createSweeper } from "./sweeper.ts";
import { toAgentFolders, toShelfOptions } from "./to-shelf-options.ts";
import { toStickySessions } from "./to-sticky-sessions.ts";
import { loadVersion } from "./version.ts";
import { createFolderWatch } from "./folder-watch.ts";
import { toWorkspaceRules } from "./workspace-rules.ts";

/** Serves the agents until a signal comes, or over stdio the client goes away; only a failing start lets it return. */
export async function serve(config: Config, host: Host): Promise<never> {
  const http = loadHttpOptions(config, host);
  const shutdown = createShutdown(host);
  const owner = createOwner({ stateDir: config.stateDir, isolation: config.sandbox ? "container" : "none" });
  // First of all, and at once: without the sandbox that was asked for nothing is served.
  const runner = await createRunner(config, host, owner);
  const first = loadTools(config, host);
  const shelf = createAgentShelf(toShelfOptions(first, config, host));

  const { keepAnswers, retention, stateDir } = config;
  const register = createSessionRegister({ stateDir, report: host.report });
  if (config.keepSessions) await register.check();
  const keepMs = config.keepSessions ? config.sessionTtlMs : undefined;
  const sessions = createSessionBook(runner, { register, owner, keepMs });
  const runLog = createRunLog({ stateDir, owner, report: host.report, keepAnswers, retention });
  const depth = findDepth(host.env, config.maxDepth);
  const runTurn = createRunTurn({
    agents: shelf.agents,
    runner,
    depth,
    retry: config.retry,
    protocol: createKiroProtocol(toKiroOptions(config, host)),
    hygiene: toHygiene(config),
    protectExecutablePaths: config.protectExecutablePaths,
    maxTurnsPerMinute: checkTurnRate(config, first.loaded.agents),
    turnLimits: toTurnLimits(config.turnLimits, runner.capacity),
    policyOf: (agent) => config.policies.agents.get(agent) ?? config.policies.ceiling,
    workspaceRules: toWorkspaceRules(config, host, runner),
    runLog,
    sessions,
  });
  const sweeper = createSweeper({
    sweeps: [() => expireSessions(sessions, config), () => sweepGarbage(runner, register, owner)],
    report: host.report,
    intervalMs: config.sweepEveryMs,
  });
  const toHealthOptions = (): HealthOptions => ({
    agents: shelf.agents().map(({ name }) => name),
    isolation: runner.isolation,
    // What one client does is nothing to another.
    showErrors: http === undefined,
  });
  const owners = http && createSessionOwners({ runTurn, sessions });
  const longCallTools = toLongCallTools(config);
  const toToolbox = ({ info }: Client): Toolbox => {
    const client = owners?.enter() ?? { runTurn };
    const toolbox = createToolbox({
      tools: shelf.tools,
      ...client,
      runTurn: config.stickySessions ? toStickySessions(client.runTurn) : client.runTurn,
      health: async () => toHealthReport(await runLog.recent({ limit: HEALTH_RUNS }), toHealthOptions()),
      onCall: sweeper.begin,
      report: config.verbose ? host.report : undefined,
    });
    const deadlineMs = (): number | undefined => toSoftDeadlineMs(config.softDeadline, info());
    return withLongCalls(toolbox, { deadlineMs, tools: longCallTools, report: host.report });
  };
  const [version, instructions] = [loadVersion(), toInstructions(config.tools)];
  const shared = { toToolbox, version, instructions, heartbeatMs: config.heartbeatMs, report: host.report };
  const server = await createToolServer({
    http,
    host,
    version,
    connect: (transport, onClientGone) =>
      createConnection({ ...shared, transport, onClientGone, onDelivery: (runs, fate) => void runLog[fate](runs) }),
    onClientGone: shutdown.begin,
  });
  const watch = createFolderWatch({
    folders: toAgentFolders(config),
    hasChanged: shelf.hasChanged,
    onChange: () => void (shelf.settle() && server.tellOfTools()),
    report: host.report,
  });

  shutdown.onBegin(async () => {
    watch.close();
    sweeper.stop();
    await Promise.allSettled([server.close(), runner.close()]);
    // A call that was just beginning may have opened its session in between.
    await runner.close();
    await sessions.close();
    register.close();
    runLog.close();
    await owner.release();
  });
  introduce(runner, shelf.tools().length, host);
  if (isTooDeep(depth)) host.report(TOO_DEEP);
  if (config.sandbox) warnOfBridge(config.policies, host);
  await server.start();
  watch.start();
  return shutdown.ended;
}

const TOO_DEEP =
  "An agent started this budgie, and --max-depth of the outermost allows no more agents below: it refuses every call.";

async function expireSessions(sessions: SessionBook, { sessionTtlMs }: Config): Promise<readonly string[]> {
  await sessions.expireIdle(sessionTtlMs);
  return [];
}

function introduce({ isolation, notices }: Runner, toolCount: number, { report }: Host): void {
  const hint = isolation === "none" ? " Agents can read and write whatever you can; --sandbox prevents that." : "";
  report(`Serving ${toolCount} ${toolCount === 1 ? "tool" : "tools"}, isolation: ${isolation}.${hint}`);
  for (const notice of notices) report(notice);
}

/** An agent with a section of its own may be held to less than all are. */
function warnOfBridge({ agents, ceiling }: Policies, { report }: Host): void {
  if ([ceiling, ...agents.values()].every(({ egress }) => egress.mode !== "bridge")) return;
  report(
    "--egress bridge is unsafe: agents reach all that a container of this machine reaches, and nobody sees what. Use it " +
      "only for programs that ignore proxies.",
  );
}

function toHygiene({ maxAnswerBytes, maxPromptBytes, sanitize }: Config): Hygiene {
  return { maxAnswerBytes, maxPromptBytes, sanitize };
}

/** A limit for an agent that is not there is one that holds for nobody. */
function checkTurnRate({ maxTurnsPerMinute }: Config, agents: readonly Agent[]): TurnRateLimits {
  const known = agents.map(({ name }) => name);
  const unknown = [...maxTurnsPerMinute.agents.keys()].find((name) => !known.includes(name));
  if (unknown === undefined) return maxTurnsPerMinute;
  throw new BudgieError(
    "CONFIG_INVALID",
    `There is no agent "${unknown}" for --max-turns-per-minute. The agents are: ${known.join(", ") || "none"}.`,
  );
}

function toKiroOptions(config: Config, { env, home }: Host): KiroOptions {
  return {
    binary: config.kiroBinary,
    defaultModel: config.model,
    trustAllTools: config.trustAllTools,
    prompts: { system: config.systemPrompt, contextSummary: config.contextSummaryPrompt },
    // Without a sandbox Kiro's variables reach the agent by themselves.
    env: config.sandbox ? toSandboxSecrets(config.credentials, env) : {},
    projections: toSharedProjections(home, config.promptsDir),
    outputFiles: createOutputFiles({ stateDir: config.stateDir }),
    verbose: config.verbose,
  };
}
