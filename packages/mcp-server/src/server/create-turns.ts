import {
  createByteBudget,
  createOutputFiles,
  createFindKiroFlags,
  createRunTurn,
  createSessionStore,
  createWarmProcesses,
  toTurnLimits,
  type Nesting,
  type OutputFiles,
  type Owner,
  type RegisteredSession,
  type Runner,
  type RunTurn,
  type SessionStore,
  type TextLimits,
} from "@budgie/core";
import { createRunLog, createSessionRegister, type RunLogFile, type SessionRegisterFile } from "@budgie/store";
import { removeCopies } from "../agent-servers/agent-file.ts";
import { closeShared, MOST_PENDING_BYTES, type SharedServers } from "../agent-servers/shared-servers.ts";
import { withAgentServers } from "../agent-servers/with-agent-servers.ts";
import { createAgentCatalog, toCatalogOptions, type AgentCatalog } from "../agents/agent-catalog.ts";
import { createProtocols } from "../agents/create-protocols.ts";
import { createKagentAgents, withPresentAgents } from "../agents/kagent-agents.ts";
import { openElsewhere } from "../agents/open-elsewhere.ts";
import { loadTools } from "../agents/load-tools.ts";
import type { Config } from "../config/config.ts";
import { sweepGarbage } from "../garbage/sweep.ts";
import { createSweeper, type Sweeper } from "../garbage/sweeper.ts";
import { createLiveRuns } from "../live/live-runs.ts";
import type { Host } from "../process/host.ts";
import { findNesting } from "./find-nesting.ts";
import { loadWorkspaceRules } from "./workspace-rules.ts";

/** The parts that run turns, for a server and for `budgie run`. */
export type Turns = {
  readonly catalog: AgentCatalog;
  /** Prepares, in the background, what does not depend on a turn */
  readonly prepare: () => void;
  /** Returns the turns of a client with this self-given name. Other processes of this user can list and stop them */
  readonly runTurn: (client: () => string | undefined) => RunTurn;
  readonly runLog: RunLogFile;
  readonly register: SessionRegisterFile;
  readonly sessions: SessionStore;
  readonly sweeper: Sweeper;
  readonly nesting: Nesting;
  /** Stops the sweeper, and closes the runner, the stores and the lock. The turns must have ended, or end when the runner closes. */
  readonly close: () => Promise<void>;
};

export type TurnsOptions = {
  readonly config: Config;
  readonly host: Host;
  readonly owner: Owner;
  readonly runner: Runner;
  /** The origin of new sessions; default a server */
  readonly origin?: RegisteredSession["origin"];
  /** Called with the problems of all agents; default `host.report` */
  readonly reportAgents?: (line: string) => void;
};

// A client that has just started has other work for the machine. A turn before that asks at once.
const ASK_AFTER_MS = 1000;

/** Creates the parts that run turns with this runner. Throws for agents and options that do not fit. */
export async function createTurns(options: TurnsOptions): Promise<Turns> {
  const { host, origin, owner, reportAgents: report = host.report, runner } = options;
  const kagent = options.config.kagent && createKagentAgents(options.config.kagent, { ...host, report });
  await kagent?.start();
  const config = withPresentAgents(options.config, kagent);
  const first = loadTools(config, { ...host, report });
  const catalog = createAgentCatalog(toCatalogOptions(first, config, { ...host, report }));

  const { keepAnswers, retention, stateDir } = config;
  const register = createSessionRegister({ stateDir, report: host.report });
  if (config.keepSessions) await register.check();
  const keepMs = config.keepSessions ? config.sessionTtlMs : undefined;
  const elsewhere = await openElsewhere(config, owner, runner);
  const sessions = createSessionStore(runner, { register, owner, keepMs, origin }, elsewhere);
  const runLog = createRunLog({ stateDir, owner, report: host.report, keepAnswers, retention });
  const outputFiles = createOutputFiles({ stateDir, maxAgeMs: retention.maxAgeMs });
  const nesting = findNesting(host.env, config.maxDepth);
  const findFlags = createFindKiroFlags({ runner, binary: config.kiroBinary, stateDir });
  const { a2a, acp, protocol } = createProtocols(config, host, { findFlags, outputFiles });
  const shared: SharedServers = new Map();
  const allPending = createByteBudget(MOST_PENDING_BYTES);
  const places = { config, host, runner, shared, allPending, instance: owner.record.instance };
  const runTurn = createRunTurn({
    agents: catalog.agents,
    runner,
    nesting,
    retry: config.retry,
    acp: withAgentServers(acp, places),
    protocol: withAgentServers(protocol, places),
    ...(elsewhere === undefined ? {} : { remote: { runner: elsewhere, protocol: a2a } }),
    textLimits: toTextLimits(config),
    protectExecutablePaths: config.protectExecutablePaths,
    maxTurnsPerMinute: config.maxTurnsPerMinute,
    turnLimits: toTurnLimits(config.turnLimits, runner.capacity),
    policyOf: (agent) => config.policies.agents.get(agent) ?? config.policies.ceiling,
    workspaceRules: loadWorkspaceRules(config, host, runner),
    warm: config.warmIdleMs === 0 ? undefined : createWarmProcesses({ idleMs: config.warmIdleMs }),
    runLog,
    sessions,
  });
  const sweeper = createSweeper({
    sweeps: [
      () => expireSessions(sessions, config),
      () => sweepGarbage(runner, register, owner),
      // Without a sandbox, these are the same folders.
      ...(elsewhere === undefined || !config.sandbox ? [] : [() => sweepGarbage(elsewhere, register, owner)]),
      () => pruneOutputs(outputFiles),
    ],
    report: host.report,
    intervalMs: config.sweepEveryMs,
  });
  const liveRuns = createLiveRuns(
    (agent) => {
      const isElsewhere = catalog.agents().some(({ name, remote }) => name === agent && remote !== undefined);
      return isElsewhere ? "remote" : runner.isolation;
    },
    () => runner.ahead?.count(),
  );
  owner.answer(liveRuns.answer);

  async function close(): Promise<void> {
    clearTimeout(asking);
    sweeper.stop();
    kagent?.close();
    await Promise.all([runner.close(), elsewhere?.close()]);
    await closeShared(shared);
    removeCopies(places);
    await sessions.close();
    register.close();
    runLog.close();
    await owner.release();
  }

  let asking: NodeJS.Timeout | undefined;
  function prepare(): void {
    if (runner.ahead === undefined) return;
    runner.ahead.prepare();
    const hasKiros = catalog.agents().some(({ program, remote }) => program === undefined && remote === undefined);
    if (hasKiros) asking ??= setTimeout(() => void findFlags(), ASK_AFTER_MS).unref();
  }

  const follow = (client: () => string | undefined): RunTurn => liveRuns.follow(runTurn, client);
  return { catalog, prepare, runTurn: follow, runLog, register, sessions, sweeper, nesting, close };
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
