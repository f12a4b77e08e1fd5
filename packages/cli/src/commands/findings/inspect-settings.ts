import { accessSync, constants, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { BudgieError, loadAgents, type Agent } from "@budgie/core";
import { isKiros, listHideableHooks } from "@budgie/core/agents";
import { judgeBell } from "@budgie/core/bell";
import { findSqliteProblem } from "@budgie/store";
import {
  findAwaitedAgents,
  findRefusedRemotes,
  openUserFileTrust,
  refuseUnknownAgents,
  type Host,
} from "@budgie/mcp-server";
import { acceptAgents, findHiddenFiles } from "@budgie/mcp-server/commands";
import type { Config } from "../../config/config.ts";
import { listUnknownVariables } from "../../config/list-unknown-variables.ts";
import { listSqliteFindings, type Finding } from "./finding.ts";
import { inspectHarnesses } from "./inspect-harnesses.ts";
import { inspectServers } from "./inspect-servers.ts";

type Inspection = {
  /** The problems of agents elsewhere */
  readonly problems: readonly string[];
  readonly signal: AbortSignal;
  readonly host: Host;
};

/** Looks at all that is the same for each runner: agents, their servers, folders and settings. */
export async function inspectSettings(
  config: Config,
  { host, problems, signal }: Inspection,
): Promise<readonly Finding[]> {
  return [
    ...inspectAgents(config, host),
    ...inspectHarnesses(loadAgents(config), config),
    ...(await inspectServers(config, signal, host)),
    ...[...problems, ...findRefusedRemotes(config)].map(makeFailure),
    ...inspectDirectories(config),
    ...listSqliteFindings(findSqliteProblem()),
    ...inspectBell(config, host),
    ...listUnknownVariables(host.env).map((text): Finding => ({ state: "note", what: "variable", text })),
  ];
}

function inspectAgents(config: Config, host: Host): readonly Finding[] {
  const { agents, files, problems } = loadAgents(config);
  const [problem] = problems;
  // The problem of the directory itself
  if (files.size === 0 && problem !== undefined) {
    return [{ state: "failed", what: "agents", text: problem, todo: formatFirstAgent(config, host) }];
  }
  const { agents: offered, refusals } = acceptAgents(agents, config);
  return [
    ...judgeAgents(offered, refusals, { config, host }),
    ...[...problems, ...findHiddenFiles(agents, config, host)].map(makeNote),
    ...agents.flatMap(inspectHooks),
    ...refusals.map(makeFailure),
    ...findAwaitedAgents(config, agents).map(makeNote),
    ...inspectNames(() => refuseUnknownAgents(config, agents)),
  ];
}

function makeNote(text: string): Finding {
  return { state: "note", what: "agents", text };
}

function makeFailure(text: string): Finding {
  return { state: "failed", what: "agents", text };
}

type Context = { readonly config: Config; readonly host: Host };

function judgeAgents(
  offered: readonly Agent[],
  refusals: readonly string[],
  { config, host }: Context,
): readonly Finding[] {
  const listFound = (agents: readonly Agent[], place: string): readonly Finding[] =>
    agents.length === 0
      ? []
      : [{ state: "ok", what: "agents", text: `${agents.map(({ name }) => name).join(", ")}, in "${place}"` }];
  const found = [
    ...listFound(offered.filter(isKiros), config.agentsDir),
    ...listFound(
      offered.filter((agent) => !isKiros(agent)),
      config.config ?? "",
    ),
  ];
  if (found.length > 0) return found;
  if (refusals.length > 0) return [];
  const text = `none, in "${config.agentsDir}": the description of one must begin with "sub-agent:"`;
  return [{ ...makeFailure(text), todo: formatFirstAgent(config, host) }];
}

/** Returns the command that writes a first agent. */
function formatFirstAgent({ agentsDir }: Config, { home }: Host): string {
  return agentsDir === join(home, ".kiro/agents") ? "budgie init" : `budgie init --agents-dir "${agentsDir}"`;
}

function inspectHooks({ hooks = [], name }: Agent): readonly Finding[] {
  const hidden = listHideableHooks(hooks).join(", ");
  if (hidden === "") return [];
  return [makeNote(`a sandbox may hide these hooks of "${name}", which then do not run: ${hidden}`)];
}

function inspectNames(check: () => unknown): readonly Finding[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof BudgieError)) throw error;
    return [makeFailure(error.message)];
  }
}

function inspectDirectories({ sessionsDir, stateDir }: Config): readonly Finding[] {
  return [sessionsDir, stateDir].map((directory): Finding => {
    return isWritable(directory)
      ? { state: "ok", what: "directory", text: `"${directory}" can be written` }
      : { state: "failed", what: "directory", text: `"${directory}" cannot be written` };
  });
}

/** Looks for the command that is told of turns, and does not run it. */
function inspectBell(config: Config, host: Host): readonly Finding[] {
  const { notify } = config;
  if (notify === undefined) return [];
  const judged = judgeBell(notify, { host, trust: openUserFileTrust(config, host) });
  if (judged.program !== undefined) return [{ state: "ok", what: "notify", text: `"${judged.program}" can be run` }];
  const { todo, trouble } = judged;
  return [{ state: "failed", what: "notify", text: `the command of "notify" ${trouble}`, todo }];
}

/** Returns whether a directory is writable, or can be created in its nearest existing parent. */
function isWritable(directory: string): boolean {
  if (!existsSync(directory)) return dirname(directory) !== directory && isWritable(dirname(directory));
  try {
    accessSync(`${directory}/.`, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
