import { setTimeout as sleep } from "node:timers/promises";
import { createRunTurn, type Owner, type Runner, type RunTurn } from "@budgie/core";
import { createBell, ringBell, type Bell } from "@budgie/core/bell";
import { isKiros } from "@budgie/core/agents";
import type { ScopedBudget } from "@budgie/core/budget";
import { createSweeper, type Sweeper } from "@budgie/core/garbage";
import { addCommitTrailer, readGitIdentity } from "@budgie/core/git";
import { createLiveRuns } from "@budgie/core/live";
import { findNesting, type FileTrust, type Nesting } from "@budgie/core/policy";
import { createOutputFiles, type Protocol } from "@budgie/core/protocol";
import { createSessionStore, type RegisterEntry, type SessionStore } from "@budgie/core/sessions";
import { escapeForTerminal } from "@budgie/core/text";
import { createLeftWatch, formatLeft, fillLimits, type TextLimits, type TurnDependencies } from "@budgie/core/turn";
import { createAgentServers } from "@budgie/mcp-manager/serving";
import { createFindKiroFlags } from "@budgie/protocols/kiro";
import {
  createBudgetLedger,
  createRunLog,
  createSessionRegister,
  type RunLogFile,
  type RegisterFile,
} from "@budgie/store";
import { openUserFileTrust } from "../config/open-user-file-trust.ts";
import { createAgentCatalog, catalogOptions, type AgentCatalog } from "../agents/agent-catalog.ts";
import { createProtocols } from "../agents/create-protocols.ts";
import { createKagentAgents, withPresentAgents } from "../agents/kagent-agents.ts";
import { openRemote } from "../agents/open-remote.ts";
import { loadTools } from "../agents/load-tools.ts";
import { refuseGuardedMounts } from "../config/refuse-guarded-mounts.ts";
import { findPolicy, findProvided, findWorkspace, listBudgets } from "../config/settings.ts";
import type { ServerConfig } from "../config/server-config.ts";
import { toServersConfig } from "../config/to-servers-config.ts";
import { startBell } from "../process/start-bell.ts";
import { findImageTools } from "../config/find-image-tools.ts";
import { provideImage } from "../config/provide-image.ts";
import type { Host } from "../process/host.ts";
import { createChangeSetsOpener, type ChangeSetsOpener } from "./change-sets-opener.ts";
import { openCopies } from "./open-copies.ts";
import { loadWorkspaceRules } from "./load-workspace-rules.ts";
import { listSweeps } from "./list-sweeps.ts";

/** The parts that run turns, for a server and for `budgie run`. */
export type Turns = {
  readonly catalog: AgentCatalog;
  /** Prepares, in the background, what does not depend on a turn */
  readonly prepare: () => void;
  /** Returns the turns of a client with this self-given name. Other processes of this user can list and stop them */
  readonly runTurn: (client: () => string | undefined) => RunTurn;
  readonly runLog: RunLogFile;
  readonly register: RegisterFile;
  readonly sessions: SessionStore;
  readonly sweeper: Sweeper;
  readonly changes: ChangeSetsOpener;
  readonly nesting: Nesting;
  /** Stops the sweeper, and closes the runner, the stores and the lock. The turns must have ended, or end when the runner closes. */
  readonly close: () => Promise<void>;
};

type Options = {
  readonly config: ServerConfig;
  readonly host: Host;
  readonly owner: Owner;
  readonly runner: Runner;
  /** The origin of new sessions; default a server */
  readonly origin?: RegisterEntry["origin"];
  /** Takes the place of all agents, without their MCP servers; default: the agents themselves */
  readonly protocol?: Protocol | undefined;
  /** Called with the problems of all agents; default `host.report` */
  readonly reportAgents?: (line: string) => void;
};

// The walk through a large directory takes longer, and a user waits for the exit.
const MOST_LOOKING_MS = 2000;

// A client that has just started has other work for the machine. A turn before that asks at once.
const ASK_AFTER_MS = 1000;

/** Creates the parts that run turns with this runner. Throws for agents and options that do not fit. */
export async function createTurns(options: Options): Promise<Turns> {
  const { host, origin, owner, reportAgents: report = host.report, runner } = options;
  const kagent = options.config.kagent && createKagentAgents(options.config.kagent, { ...host, report });
  await kagent?.start();
  const workspaceRules = loadWorkspaceRules(options.config, host, runner);
  await refuseGuardedMounts(options.config.workspaces, workspaceRules);
  const config = withPresentAgents({ ...options.config, ...(await findImageTools(options.config, runner)) }, kagent);
  const first = loadTools(config, { ...host, report });
  const catalog = createAgentCatalog(catalogOptions(first, config, { ...host, report }));

  const { keepAnswers, keepTranscripts, retention, stateDir } = config;
  const register = createSessionRegister({ stateDir, report: host.report });
  if (config.keepSessions) await register.check();
  const keepMs = config.keepSessions ? config.sessionTtlMs : undefined;
  const elsewhere = await openRemote(config, owner, runner);
  const sessions = createSessionStore(runner, { register, owner, keepMs, origin }, elsewhere);
  const runLog = createRunLog({ stateDir, owner, report: host.report, keepAnswers, keepTranscripts, retention });
  const ledger = createBudgetLedger({ stateDir, owner });
  const budgetsOf = (agent: string, directory: string): readonly ScopedBudget[] =>
    listBudgets(config, agent, directory);
  const changes = createChangeSetsOpener(config, owner);
  const outputFiles = createOutputFiles({ stateDir, maxAgeMs: retention.maxAgeMs });
  const nesting = findNesting(host.env, config.maxDepth);
  const findFlags = createFindKiroFlags({ runner, binary: config.kiroBinary, stateDir });
  const { a2a, ...protocols } = createProtocols(config, host, { findFlags, outputFiles });
  const trust = openUserFileTrust(config, host);
  const bell = findBell(options, nesting, trust);
  const servers = createAgentServers({
    config: toServersConfig(config, host),
    runner,
    instance: owner.record.instance,
  });
  const leftWatch = createLeftWatch((changes) => {
    host.report(escapeForTerminal(`${changes.directory}: ${formatLeft(changes)}`));
  });
  // Without a sandbox agents read the user's configuration themselves.
  const identity = config.sandbox ? readGitIdentity(host) : {};
  const copies = openCopies(config, host, changes);
  const runTurn = createRunTurn({
    leftWatch,
    copies,
    fileTrust: trust,
    agents: catalog.agents,
    runner,
    nesting,
    providedFor(agent, directory, runId) {
      const provided = findProvided(config, { agent, workspace: findWorkspace(config, directory), env: host.env });
      const env = { ...identity, ...provided.env };
      const commits = config.commitTrailer ? addCommitTrailer(stateDir, { agent: agent.name, env, runId }) : { env };
      return provideImage({ ...provided, credentials: config.credentials, ...commits }, directory, config);
    },
    retry: config.retry,
    briefs: config.sandboxBriefing,
    ...replaceAgents({ ...protocols, agentSteps: [servers.step] }, options.protocol),
    ...(elsewhere === undefined ? {} : { remote: { runner: elsewhere, protocol: a2a } }),
    textLimits: pickTextLimits(config),
    protectExecutablePaths: config.protectExecutablePaths,
    maxTurnsPerMinute: config.maxTurnsPerMinute,
    // A person's own command is no agent's.
    budgets: options.protocol === undefined ? { ledger, budgetsOf } : undefined,
    turnLimits: fillLimits(config.turnLimits, runner.capacity),
    workspacePathOf(directory) {
      const path = findWorkspace(config, directory)?.workspacePath ?? config.workspacePath;
      return path === "same" ? path : undefined;
    },
    hasSubfolderGit: (directory) => findWorkspace(config, directory)?.subfolderGit === true,
    policyOf: (agent, directory) => findPolicy(config, agent, directory),
    workspaceRules,
    runLog,
    sessions,
  });
  const sweeper = createSweeper({
    sweeps: listSweeps({
      sessions,
      runner,
      elsewhere,
      register,
      owner,
      outputFiles,
      bases: copies.bases,
      config,
      changes,
      report: host.report,
    }),
    report: host.report,
    intervalMs: config.sweepEveryMs,
  });
  const liveRuns = createLiveRuns(
    (agent) => {
      const isElsewhere = catalog.agents().some(({ name, remote }) => name === agent && remote !== undefined);
      return isElsewhere ? "remote" : runner.isolation;
    },
    { countAhead: () => runner.ahead?.count(), listLeft: leftWatch.list },
  );
  owner.answer(liveRuns.answer);

  async function close(): Promise<void> {
    clearTimeout(asking);
    sweeper.stop();
    kagent?.close();
    await Promise.all([runner.close(), elsewhere?.close()]);
    // Its agents have ended now, and nobody else looks at what they left.
    await Promise.race([leftWatch.settled(), sleep(MOST_LOOKING_MS, undefined, { ref: false })]);
    await servers.close();
    await sessions.close();
    await changes.close();
    register.close();
    runLog.close();
    ledger.close();
    await bell?.close();
    await owner.release();
  }

  let asking: NodeJS.Timeout | undefined;
  function prepare(): void {
    if (runner.ahead === undefined) return;
    runner.ahead.prepare();
    const hasKiros = catalog.agents().some(isKiros);
    if (hasKiros) asking ??= setTimeout(() => void findFlags(), ASK_AFTER_MS).unref();
  }

  function runTurnOf(client: () => string | undefined): RunTurn {
    const follow = liveRuns.follow(client);
    const rung = bell === undefined ? [] : [ringBell(bell)];
    return (asked, hooks) => {
      const steps = [...rung, ...(hooks?.steps ?? []), follow];
      return runTurn(asked, { ...hooks, client: client(), steps });
    };
  }

  return { catalog, prepare, runTurn: runTurnOf, runLog, register, sessions, sweeper, changes, nesting, close };
}

/** Creates the bell that the user wants. A nested budgie's turn is part of one that has a bell, and a person needs none of their own commands. */
function findBell({ config, host, protocol }: Options, nesting: Nesting, trust: FileTrust): Bell | undefined {
  if (config.notify === undefined || nesting.level > 0 || protocol !== undefined) return undefined;
  return createBell({ command: config.notify, host, report: host.report, start: startBell, trust });
}

type Talking = Pick<TurnDependencies, "acp" | "agentSteps" | "protocol">;

function replaceAgents(agents: Talking, protocol: Protocol | undefined): Talking {
  return protocol === undefined ? agents : { acp: protocol, protocol, agentSteps: [] };
}

function pickTextLimits({ maxAnswerBytes, maxPromptBytes, sanitize }: ServerConfig): TextLimits {
  return { maxAnswerBytes, maxPromptBytes, sanitize };
}
