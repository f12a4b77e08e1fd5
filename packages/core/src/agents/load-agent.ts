import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { withoutSubAgentPrefix, type Agent } from "./agent.ts";
import { parseAgentFile, type AgentDefinition, type AgentPlace, type ParsedAgentFile } from "./agent-definition.ts";
import { listHooks } from "./agent-hook.ts";
import {
  parsePromptFrontmatter,
  formatDescription,
  formatWhenToUse,
  type PromptFrontmatter,
} from "./prompt-frontmatter.ts";
import { allowsFileTools } from "./capability.ts";
import { listNamedFiles } from "./list-named-files.ts";
import { reloadFile, UNREADABLE, type LoadedFile } from "./reload-file.ts";
import { sanitizeText } from "../text/sanitize-text.ts";

/** The result of loading a file of the agents' folder. */
export type LoadedAgent = {
  /** `undefined` if the file has no agent for budgie */
  readonly agent: Agent | undefined;
  /** One sentence each, naming the file */
  readonly problems: readonly string[];
  /** Its value is `undefined` for a prompt too, which is no agent */
  readonly content: LoadedFile<ParsedAgentFile | undefined>;
  /** The agent's prompt file; `undefined` if the agent's name is unknown */
  readonly profile: LoadedFile<PromptFrontmatter | undefined> | undefined;
};

export type PromptFolder = {
  readonly promptsDir: string;
  /** True if the folder was removed */
  readonly isGone: boolean;
};

/** Loads an agent's file and its prompt file. A file that cannot be used keeps its content from `before`. */
export function loadAgent(place: AgentPlace, folder: PromptFolder, before?: LoadedAgent): LoadedAgent {
  const { file } = place;
  const content = reloadFile(file, (text) => parseAgentFile(text, place), before?.content);
  const profile = loadProfile(content.value?.definition, folder, before);
  const isAsBefore = before !== undefined && isSame(content, before.content) && isSame(profile, before.profile);
  if (isAsBefore) return { ...before, content, profile };
  const problems = listProblems(file, content, profile);
  const subAgent = readSubAgent(file, content, profile?.value);
  return { agent: subAgent, problems, content, profile };
}

function isSame(now: LoadedFile<unknown> | undefined, before: LoadedFile<unknown> | undefined): boolean {
  return now?.value === before?.value && now?.problem === before?.problem;
}

function loadProfile(
  definition: AgentDefinition | undefined,
  { isGone, promptsDir }: PromptFolder,
  before: LoadedAgent | undefined,
): LoadedAgent["profile"] {
  if (definition === undefined || !isSubAgent(definition)) return undefined;
  const { name } = definition;
  const known = before?.content.value?.definition.name === name ? before.profile : undefined;
  if (isGone && known !== undefined) return known;
  const path = join(promptsDir, `${name}.md`);
  const profile = reloadFile(path, (text) => parsePromptFrontmatter(text, path), known);
  if (profile.stamp !== UNREADABLE) return profile;
  return { ...profile, problem: `Cannot read "${path}": ${profile.problem}.` };
}

function readSubAgent(
  file: string,
  { problem, value }: LoadedAgent["content"],
  profile: PromptFrontmatter | undefined,
): Agent | undefined {
  if (value === undefined || !isSubAgent(value.definition)) return undefined;
  const { hooks, model, name } = value.definition;
  return {
    name,
    description: findDescription(value.definition, profile),
    whenToUse: formatWhenToUse(profile),
    file,
    promptFile: findPromptFile(value.definition, file),
    writesFiles: allowsFileTools(value.definition),
    model: profile?.model ?? undefined,
    hasModel: typeof model === "string" && model !== "",
    named: listNamedFiles(value.definition, file),
    ...(hooks === undefined ? {} : { hooks: listHooks(hooks) }),
    broken: problem,
  };
}

function findDescription({ description, name }: AgentDefinition, profile: PromptFrontmatter | undefined): string {
  const described = formatDescription(withoutSubAgentPrefix(description ?? "") ?? "", profile);
  // Some clients omit a tool whose description is empty or invisible.
  return sanitizeText(described).trim() === "" ? `The agent ${name}.` : described;
}

/** Excludes the orchestrator, which is the caller: as a tool it would call itself. */
function isSubAgent({ description, name }: AgentDefinition): boolean {
  return name !== "orchestrator" && withoutSubAgentPrefix(description ?? "") !== undefined;
}

/** Resolves a `file://` prompt as Kiro does: relative to the agent file's folder, with `~` for the home. */
function findPromptFile({ prompt }: AgentDefinition, file: string): string | undefined {
  const path = /^file:\/\/(.+)$/.exec(prompt ?? "")?.[1];
  if (path === undefined) return undefined;
  return path.startsWith("~/") ? join(homedir(), path.slice(2)) : resolve(dirname(file), path);
}

function listProblems(file: string, content: LoadedAgent["content"], profile: LoadedAgent["profile"]): string[] {
  const problems: string[] = [];
  // Without a stamp, it is a dangling symlink, or a file that was removed since the folder was read.
  const reason = content.stamp === undefined ? "there is no such file" : content.problem;
  if (reason !== undefined && content.value === undefined)
    problems.push(`Skipped the agent file "${file}": ${reason}.`);
  else if (reason !== undefined) {
    problems.push(`The agent file "${file}" cannot be used now: ${reason}. Its agent stays in use as it was.`);
  }
  if (profile?.problem !== undefined) {
    problems.push(
      profile.value === undefined ? profile.problem : `${profile.problem} Its earlier content stays in use.`,
    );
  }
  return problems;
}
