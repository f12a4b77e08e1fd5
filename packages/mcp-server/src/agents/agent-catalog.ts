import { isDeepStrictEqual } from "node:util";
import { loadAgents, type Agent } from "@budgie/core";
import { joinFirst } from "@budgie/core/text";
import type { AgentFolders } from "@budgie/core/agents";
import type { Tool } from "../mcp/tools/tool.ts";
import { buildTools } from "../mcp/tools/build-tools.ts";
import type { ServerConfig } from "../config/server-config.ts";
import type { Host } from "../process/host.ts";
import type { LoadedTools } from "./load-tools.ts";
import { acceptAgents, type AcceptedAgents } from "./accept-agents.ts";
import { findProblems, type Offer } from "./find-problems.ts";

/** The current agents and their tools. */
export type AgentCatalog = {
  /** Returns the agents after reading all changed files. */
  readonly agents: () => readonly Agent[];
  /** Returns the tools that clients were last notified of, which {@link AgentCatalog.settle} updates. */
  readonly tools: () => readonly Tool[];
  /** Reads changed files, and returns whether there is anything to settle. */
  readonly hasChanged: () => boolean;
  /** Publishes the changes and reports their problems. Returns true if clients must be notified. */
  readonly settle: () => boolean;
};

export type AgentCatalogOptions = {
  /** The initial agents and tools, whose problems were reported already */
  readonly first: LoadedTools;
  readonly folders: AgentFolders;
  /** Leaves out agents whose tool names collide with others. */
  readonly accept: (agents: readonly Agent[], before: readonly Agent[]) => AcceptedAgents;
  readonly toTools: (agents: readonly Agent[]) => readonly Tool[];
  readonly findProblems: (offer: Offer) => readonly string[];
  /** The settings of single agents: the agent's name, and the place of the setting for messages */
  readonly settings: readonly (readonly [agent: string, place: string])[];
  readonly report: (line: string) => void;
};

/** Creates the catalog. It reads no files before its first call. */
export function createAgentCatalog(options: AgentCatalogOptions): AgentCatalog {
  const { accept, findProblems, first, folders, report, settings, toTools } = options;
  let { accepted, loaded, tools } = first;
  let settled = { loaded, accepted };
  let reported: ReadonlySet<string> = new Set([
    ...loaded.problems,
    ...accepted.refusals,
    ...findProblems({ agents: accepted.agents, tools }),
  ]);

  function look(): void {
    const next = loadAgents(folders, loaded);
    if (next.agents !== loaded.agents) accepted = accept(next.agents, accepted.agents);
    loaded = next;
  }

  function hasChanged(): boolean {
    look();
    return accepted !== settled.accepted || loaded.problems !== settled.loaded.problems;
  }

  /** Reports each problem once until it is fixed. */
  function tell(problems: readonly string[]): void {
    const now = new Set(problems);
    for (const problem of now) if (!reported.has(problem)) report(problem);
    reported = now;
  }

  return {
    agents() {
      look();
      return accepted.agents;
    },
    tools: () => tools,
    hasChanged,
    settle() {
      if (!hasChanged()) return false;
      settled = { loaded, accepted };
      const before = tools;
      tools = toTools(accepted.agents);
      const { agents, refusals } = accepted;
      const abandoned = findAbandonedSettings([...agents, ...loaded.agents], settings);
      tell([...loaded.problems, ...refusals, ...abandoned, ...findProblems({ agents, tools })]);
      const change = formatChange(before, tools);
      if (change !== undefined) report(change);
      return change !== undefined;
    },
  };
}

/** Finds the settings of agents that no longer exist. */
function findAbandonedSettings(agents: readonly Agent[], settings: AgentCatalogOptions["settings"]): readonly string[] {
  const known = new Set(agents.map(({ name }) => name));
  return settings
    .filter(([agent]) => !known.has(agent))
    .map(
      ([agent, place]) =>
        `The agent "${agent}" is gone, and ${place} is for it: if it was renamed, rename it there too.`,
    );
}

const MOST_NAMED = 5;

/** Returns a message that names the changed tools; `undefined` if the definitions are equal. */
function formatChange(before: readonly Tool[], now: readonly Tool[]): string | undefined {
  const [old, current] = [mapDefinitions(before), mapDefinitions(now)];
  const changes = [
    ["added", [...current.keys()].filter((name) => !old.has(name))],
    ["removed", [...old.keys()].filter((name) => !current.has(name))],
    [
      "changed",
      [...current].filter(([name, tool]) => old.has(name) && !isDeepStrictEqual(old.get(name), tool)).map(keyOf),
    ],
  ] as const;
  const texts = changes.filter(([, names]) => names.length > 0).map(([what, names]) => `${what} ${formatNames(names)}`);
  return texts.length === 0 ? undefined : `The tools changed: ${texts.join("; ")}.`;
}

function mapDefinitions(tools: readonly Tool[]): ReadonlyMap<string, Tool["definition"]> {
  return new Map(tools.map(({ definition }) => [definition.name, definition]));
}

function keyOf([key]: readonly [string, unknown]): string {
  return key;
}

function formatNames(names: readonly string[]): string {
  return joinFirst(
    names.map((name) => `"${name}"`),
    MOST_NAMED,
  );
}

/** Returns the options of a catalog that starts with these agents. */
export function catalogOptions(
  first: LoadedTools,
  config: ServerConfig,
  { home, report }: Pick<Host, "home" | "report">,
): AgentCatalogOptions {
  const { config: file = "", maxTurnsPerMinute, policies } = config;
  return {
    first,
    folders: config,
    report,
    accept: (agents, before) => acceptAgents(agents, config, before),
    toTools: (agents) => buildTools(agents, config),
    findProblems: (offer) => findProblems(offer, config, { home }),
    settings: [
      ...[...policies.agents.keys()].map((agent) => [agent, `a section of "${file}"`] as const),
      ...[...maxTurnsPerMinute.agents.keys()].map((agent) => [agent, "a rate of --max-turns-per-minute"] as const),
    ],
  };
}
