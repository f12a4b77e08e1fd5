import { BudgieError, type Agent } from "@budgie/core";
import type { Budget, ScopedBudget } from "@budgie/core/budget";
import { isWithin, type CacheTool, type Policy, type Service } from "@budgie/core/policy";
import type { Provided } from "@budgie/core/turn";
import type { Policies } from "./refuse-unknown-agents.ts";

/** Environment variables, by name: a text, or `$NAME` for a variable of budgie's own environment. */
export type Variables = Readonly<Record<string, string>>;

/** The variables of agents, and the image of their sandbox. */
export type AgentNeeds = {
  readonly env: Variables;
  /** `undefined` for that of the agent, or of all agents */
  readonly image?: string | undefined;
};

/** A path of this machine that the configuration shows to sandboxes, read-only. */
type ConfiguredMount = {
  /** Absolute path as the user wrote it, links included */
  readonly named: string;
  /** The path with the symlinks resolved that existed when budgie started */
  readonly path: string;
  /** The key that names it, and its file, for messages */
  readonly option: string;
};

/** The settings of calls in one directory and below it. */
export type WorkspaceSettings = AgentNeeds & {
  /** True if calls fail unless they run in the project's own image; default false */
  readonly requireImage?: boolean | undefined;
  /** Absolute, with the symlinks resolved that existed when budgie started */
  readonly directory: string;
  readonly policies: Policies;
  /** The path at which new sessions' sandboxes show the directory; `undefined` for that of all */
  readonly workspacePath?: "/workspace" | "same" | undefined;
  /** True if subfolders of a repository there get a git of their own; default false */
  readonly subfolderGit?: boolean | undefined;
  /** The paths that sandboxes there show too; default none */
  readonly mounts?: readonly ConfiguredMount[] | undefined;
  /** The tools whose downloads outlive sessions there; default none */
  readonly cache?: readonly CacheTool[] | undefined;
  /** The services of its sessions; default none */
  readonly services?: readonly Service[] | undefined;
  /** The budget of all agents together there; default none */
  readonly budget?: Budget | undefined;
  /** By agent; only agents with a section of their own in it */
  readonly agents: ReadonlyMap<string, AgentNeeds>;
};

/** The budgets of all agents together, and of single ones. */
type BudgetSettings = { readonly all?: Budget | undefined; readonly agents: ReadonlyMap<string, Budget> };

/** The settings of all agents, of single ones, and of single directories. */
export type Settings = {
  readonly policies: Policies;
  /** The variables of all agents */
  readonly env: Variables;
  /** The variables of single agents, which cannot start without them */
  readonly agentEnv: ReadonlyMap<string, Variables>;
  /** Default none */
  readonly budgets?: BudgetSettings | undefined;
  /** The path at which new sessions' sandboxes show their directory: a fixed one, or that on this machine */
  readonly workspacePath: "/workspace" | "same";
  /** The settings of directories, the longest path first */
  readonly workspaces: readonly WorkspaceSettings[];
  /** True if a project's own image gets no more than an access token, since the user chose no credentials; default false */
  readonly isShortProjectLogin?: boolean | undefined;
};

/** Returns an agent's policy in a directory; without one, that of directories without settings of their own. */
export function findPolicy(
  settings: Pick<Settings, "policies"> & Partial<Settings>,
  agent: string,
  directory?: string,
): Policy {
  const { agents, ceiling } = findWorkspace(settings, directory)?.policies ?? settings.policies;
  return agents.get(agent) ?? ceiling;
}

/** Lists the budgets that an agent has in a directory, besides that of the call. */
export function listBudgets(
  settings: Pick<Settings, "budgets" | "workspaces">,
  agent: string,
  directory: string,
): readonly ScopedBudget[] {
  const { budgets, workspaces } = settings;
  const workspace = findWorkspace({ workspaces }, directory);
  const scoped = [
    { scope: "all", budget: budgets?.all },
    { scope: `agent ${agent}`, budget: budgets?.agents.get(agent) },
    { scope: `directory ${workspace?.directory ?? ""}`, budget: workspace?.budget },
  ];
  return scoped.flatMap(({ budget, scope }) => (budget === undefined ? [] : [{ scope, budget }]));
}

/** Returns the settings of the directory with the longest path that holds this one; `undefined` if none does. */
export function findWorkspace(
  { workspaces = [] }: Partial<Settings>,
  directory: string | undefined,
): WorkspaceSettings | undefined {
  return workspaces.find((one) => directory !== undefined && isWithin(directory, one.directory));
}

/** Lists the variables that an agent needs and this environment lacks. */
export function findMissingVariables({ agentEnv }: Pick<Settings, "agentEnv">, agent: string, env: NodeJS.ProcessEnv) {
  return Object.values(agentEnv.get(agent) ?? {}).flatMap((value) => {
    const name = findReference(value);
    return name === undefined || env[name] ? [] : [name];
  });
}

/**
 * Finds what an agent gets in a directory. What is said of the agent in that directory comes first, then what is said of the agent, of the
 * directory, and of all. Throws `LOGIN_REQUIRED` for a variable of the agent's own that is not set; others are left out.
 */
export function findProvided(
  settings: Pick<Settings, "agentEnv" | "env"> & { readonly credentials?: string },
  { agent, env, workspace }: ProvidedFor,
): Provided {
  const { file, name } = agent;
  const missing = findMissingVariables(settings, name, env);
  if (missing.length > 0) {
    throw new BudgieError(
      "LOGIN_REQUIRED",
      `The agent "${name}" (${file}) needs ${missing.join(", ")}, which is not set where budgie was started. Set it, or take it out of "env".`,
    );
  }
  const own = workspace?.agents.get(name);
  const named = { ...settings.env, ...workspace?.env, ...settings.agentEnv.get(name), ...own?.env };
  return {
    env: expandVariables(named, env),
    image: own?.image ?? workspace?.image,
    ...(workspace && toShared(workspace, settings.credentials)),
  };
}

/** Returns what all agents get in a directory. Those with another kind of login share no cache. */
function toShared(
  { cache: tools, mounts, services }: WorkspaceSettings,
  trust = "",
): Pick<Provided, "cache" | "mounts" | "services"> {
  return { cache: tools && { tools, trust }, mounts: mounts?.map(({ path }) => path), services };
}

export type ProvidedFor = {
  readonly agent: Pick<Agent, "file" | "name">;
  /** The settings of the directory; `undefined` if it has none */
  readonly workspace: WorkspaceSettings | undefined;
  /** Budgie's environment */
  readonly env: NodeJS.ProcessEnv;
};

function expandVariables(variables: Variables, env: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  const entries = Object.entries(variables).flatMap(([name, value]): readonly [string, string][] => {
    const reference = findReference(value);
    const text = reference === undefined ? value : env[reference];
    return text === undefined ? [] : [[name, text]];
  });
  return Object.fromEntries(entries);
}

function findReference(value: string): string | undefined {
  return /^\$([A-Za-z_]\w*)$/.exec(value)?.[1];
}
