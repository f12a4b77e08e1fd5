import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Agent } from "./agent.ts";
import type { AgentPlace } from "./agent-definition.ts";
import { listAgentFiles } from "./list-agent-files.ts";
import { loadAgent, type LoadedAgent, type PromptFolder } from "./load-agent.ts";
import { formatOption } from "../option-name.ts";

/** The agents in the order of their files, those of a folder before those of the folders in it, and the problems with other files. */
export type LoadedAgents = {
  readonly agents: readonly Agent[];
  /** One sentence each, naming the file */
  readonly problems: readonly string[];
  /** Problems of the folders themselves, which are among `problems` too */
  readonly folderProblems: readonly string[];
  /** The loaded files by path, for the next call to compare with */
  readonly files: ReadonlyMap<string, LoadedAgent>;
};

export type AgentFolders = {
  /** The folder of the agents' files */
  readonly agentsDir: string;
  /** The folder of `<agent>.md` prompt files with frontmatter */
  readonly promptsDir: string;
  /** Agents that the configuration defines, which come first; default none */
  readonly configuredAgents?: readonly Agent[] | undefined;
};

/**
 * Loads every sub-agent. A malformed file is reported and skipped. Given the result of the call `before`, it reads only files that
 * changed, keeps the agent of a file that became malformed, and returns the same list objects if nothing changed.
 */
export function loadAgents(folders: AgentFolders, before?: LoadedAgents): LoadedAgents {
  const { places, problems: listProblems } = listFiles(folders, before);
  const gone = findGonePrompts(folders, before);
  const folder = { promptsDir: folders.promptsDir, isGone: gone !== undefined };
  // The folder is missing for a moment while a tool replaces it as a whole.
  const files =
    places === undefined ? (before?.files ?? new Map<string, LoadedAgent>()) : loadFiles(places, folder, before);
  // It went away after it was listed, so its files were not found.
  if (places !== undefined && !existsSync(folders.agentsDir)) return loadAgents(folders, before);
  const loaded = [...files.values()].flatMap(({ agent }) => agent ?? []);
  const agents = [...(folders.configuredAgents ?? []), ...loaded];
  const folderProblems = [...listProblems, ...(gone === undefined ? [] : [gone])];
  const fileProblems = [...files.values()].flatMap((file) => file.problems);
  const problems = [...folderProblems, ...fileProblems, ...listReadOnly(loaded)];
  return {
    agents: orSame(agents, before?.agents),
    problems: orSame(problems, before?.problems),
    folderProblems,
    files,
  };
}

function loadFiles(
  places: readonly AgentPlace[],
  folder: PromptFolder,
  before: LoadedAgents | undefined,
): ReadonlyMap<string, LoadedAgent> {
  return new Map(places.map((place) => [place.file, loadAgent(place, folder, before?.files.get(place.file))]));
}

type Listed = { readonly places: readonly AgentPlace[] | undefined; readonly problems: readonly string[] };

function listFiles({ agentsDir, configuredAgents }: AgentFolders, before: LoadedAgents | undefined): Listed {
  try {
    const { files, problems } = listAgentFiles(resolve(agentsDir));
    return { places: files, problems };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // Users of other agents need not have Kiro's folder.
    if (code === "ENOENT" && configuredAgents !== undefined) return { places: undefined, problems: [] };
    const rest = before === undefined || before.agents.length === 0 ? "" : " Its agents stay as they were.";
    const remedy = `Create it, or name another with ${formatOption("agentsDir")}.${rest}`;
    const fault =
      code === "ENOENT"
        ? `There is no agents directory "${agentsDir}".`
        : `Cannot read the agents directory "${agentsDir}" (${code ?? message}).`;
    return { places: undefined, problems: [`${fault} ${remedy}`] };
  }
}

/** Reports a removed prompts folder. The folder need not exist; if it did, the profiles from its files are kept. */
function findGonePrompts({ promptsDir }: AgentFolders, before: LoadedAgents | undefined): string | undefined {
  const hadProfiles = [...(before?.files.values() ?? [])].some(({ profile }) => profile?.value !== undefined);
  if (!hadProfiles || existsSync(promptsDir)) return undefined;
  return `The prompts directory "${promptsDir}" is gone. The profiles read from it stay in use until it exists again.`;
}

// A line that names hundreds of agents would bury its message.
const MOST_NAMED = 5;

/** Writes one line about all agents that may not write an answer file. */
function listReadOnly(agents: readonly Agent[]): readonly string[] {
  const names = agents.filter(({ writesFiles }) => !writesFiles).map(({ name }) => `"${name}"`);
  if (names.length === 0) return [];
  const rest = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : "";
  return [
    `Answers are read from the output of agents that may not use both fs_read and fs_write: ` +
      `${names.slice(0, MOST_NAMED).join(", ")}${rest}. Add the tools to "allowedTools", and to "tools" if an agent file has them, for ` +
      `cleaner answers.`,
  ];
}

function orSame<Item>(now: readonly Item[], before: readonly Item[] | undefined): readonly Item[] {
  const isSame = before?.length === now.length && now.every((item, index) => item === before[index]);
  return isSame ? before : now;
}
