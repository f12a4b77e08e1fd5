import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { agentFileSchema, allowsFileTools, toSubAgentDescription, type Agent, type AgentFile } from "./agent.ts";
import { toAgentHooks } from "./agent-hooks.ts";
import { parseAgentProfile, toEnhancedDescription, toWhenToUse, type AgentProfile } from "./agent-profile.ts";
import { toNamedFiles } from "./named-files.ts";
import { reloadFile, UNREADABLE, type LoadedFile } from "./reload-file.ts";
import { parseJson } from "../text/parse-json.ts";
import { sanitizeText } from "../text/sanitize-text.ts";

/** The result of loading a file of the agents' folder. */
export type LoadedAgent = {
  /** `undefined` if the file has no agent for budgie */
  readonly agent: Agent | undefined;
  /** One sentence each, naming the file */
  readonly problems: readonly string[];
  readonly content: LoadedFile<AgentFile>;
  /** The agent's prompt file; `undefined` if the agent's name is unknown */
  readonly profile: LoadedFile<AgentProfile | undefined> | undefined;
};

export type PromptFolder = {
  readonly promptsDir: string;
  /** True if the folder was removed */
  readonly isGone: boolean;
};

/** Loads an agent's file and its prompt file. A file that cannot be used keeps its content from `before`. */
export function loadAgent(file: string, folder: PromptFolder, before?: LoadedAgent): LoadedAgent {
  const content = reloadFile(file, parseAgentFile, before?.content);
  const profile = loadProfile(content.value, folder, before);
  const isAsBefore = before !== undefined && isSame(content, before.content) && isSame(profile, before.profile);
  if (isAsBefore) return { ...before, content, profile };
  const problems = toProblems(file, content, profile);
  const subAgent = toSubAgent(file, content, profile?.value);
  return { agent: subAgent, problems, content, profile };
}

function isSame(now: LoadedFile<unknown> | undefined, before: LoadedFile<unknown> | undefined): boolean {
  return now?.value === before?.value && now?.problem === before?.problem;
}

function loadProfile(
  content: AgentFile | undefined,
  { isGone, promptsDir }: PromptFolder,
  before: LoadedAgent | undefined,
): LoadedAgent["profile"] {
  if (content === undefined || !isSubAgent(content)) return undefined;
  const known = before?.content.value?.name === content.name ? before.profile : undefined;
  if (isGone && known !== undefined) return known;
  const path = join(promptsDir, `${content.name}.md`);
  const profile = reloadFile(path, (text) => parseAgentProfile(text, path), known);
  if (profile.stamp !== UNREADABLE) return profile;
  return { ...profile, problem: `Cannot read "${path}": ${profile.problem}.` };
}

function toSubAgent(
  file: string,
  { problem, value }: LoadedFile<AgentFile>,
  profile: AgentProfile | undefined,
): Agent | undefined {
  if (value === undefined || !isSubAgent(value)) return undefined;
  const described = toEnhancedDescription(toSubAgentDescription(value.description ?? "") ?? "", profile);
  return {
    name: value.name,
    // Some clients omit a tool whose description is empty or invisible.
    description: sanitizeText(described).trim() === "" ? `The agent ${value.name}.` : described,
    whenToUse: toWhenToUse(profile),
    file,
    promptFile: toPromptFile(value, file),
    writesFiles: allowsFileTools(value),
    model: profile?.model ?? undefined,
    hasModel: typeof value.model === "string" && value.model !== "",
    named: toNamedFiles(value, file),
    ...(value.hooks === undefined ? {} : { hooks: toAgentHooks(value.hooks) }),
    broken: problem,
  };
}

/** Excludes the orchestrator, which is the caller: as a tool it would call itself. */
function isSubAgent({ description, name }: AgentFile): boolean {
  return name !== "orchestrator" && toSubAgentDescription(description ?? "") !== undefined;
}

/** Resolves a `file://` prompt as Kiro does: relative to the agent file's folder, with `~` for the home. */
function toPromptFile({ prompt }: AgentFile, file: string): string | undefined {
  const path = /^file:\/\/(.+)$/.exec(prompt ?? "")?.[1];
  if (path === undefined) return undefined;
  return path.startsWith("~/") ? join(homedir(), path.slice(2)) : resolve(dirname(file), path);
}

function parseAgentFile(text: string): AgentFile {
  const parsed = agentFileSchema.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`${issue?.path.join(".") || "it"}: ${issue?.message}`);
}

function toProblems(file: string, content: LoadedFile<AgentFile>, profile: LoadedAgent["profile"]): string[] {
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
