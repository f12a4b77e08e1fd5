import { readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { agentFileSchema, allowsFileTools, toSubAgentDescription, type Agent, type AgentFile } from "./agent.ts";
import { parseAgentProfile, toEnhancedDescription, toWhenToUse, type AgentProfile } from "./agent-profile.ts";
import { BudgieError } from "./errors.ts";
import { sanitizeText } from "./sanitize-text.ts";

/** What was found: the agents in the order of their file names, and what the user should be told about the rest. */
export type LoadedAgents = {
  readonly agents: readonly Agent[];
  /** One sentence each, naming the file */
  readonly problems: readonly string[];
};

export type AgentFolders = {
  /** Holds the agents' JSON files */
  readonly agentsDir: string;
  /** Holds `<agent>.md` prompt files with frontmatter */
  readonly promptsDir: string;
};

/** Loads every sub-agent. One bad file is reported and skipped, so that it cannot take the others with it. */
export function loadAgents({ agentsDir, promptsDir }: AgentFolders): LoadedAgents {
  const problems: string[] = [];
  const report = (problem: string): void => void problems.push(problem);
  const agents = agentFiles(agentsDir, report)
    .map((file) => loadAgent(file, { promptsDir, report }))
    .filter((agent) => agent !== undefined);
  return { agents, problems };
}

type Reporting = { readonly report: (problem: string) => void };

function agentFiles(agentsDir: string, report: Reporting["report"]): readonly string[] {
  try {
    return readdirSync(agentsDir)
      .filter((name) => name.endsWith(".json"))
      .toSorted()
      .map((name) => resolve(agentsDir, name));
  } catch (error) {
    report(
      `Cannot read the agents directory "${agentsDir}" (${reasonOf(error)}). Create it, or name another with --agents-dir.`,
    );
    return [];
  }
}

function loadAgent(file: string, { promptsDir, report }: Reporting & { promptsDir: string }): Agent | undefined {
  const content = readAgentFile(file, report);
  // The orchestrator is the caller; as a tool it would call itself.
  if (content === undefined || content.name === "orchestrator") return undefined;
  const ownDescription = toSubAgentDescription(content.description ?? "");
  if (ownDescription === undefined) return undefined;

  const writesFiles = allowsFileTools(content);
  if (!writesFiles) {
    report(
      `The agent in "${file}" may not use both fs_read and fs_write, so its answers are read from its output. ` +
        `Add them to its "allowedTools", and to "tools" if it has them, for cleaner answers.`,
    );
  }
  const profile = loadProfile(join(promptsDir, `${content.name}.md`), report);
  const described = toEnhancedDescription(ownDescription, profile);
  // Some clients leave out a tool that says nothing, and what nobody sees says nothing.
  const description = sanitizeText(described).trim() === "" ? `The agent ${content.name}.` : described;
  const promptFile = toPromptFile(content, file);
  const whenToUse = toWhenToUse(profile);
  return {
    name: content.name,
    description,
    whenToUse,
    file,
    promptFile,
    writesFiles,
    model: profile?.model ?? undefined,
  };
}

/** Kiro resolves `file://` prompts against the agent file's own folder, and knows `~`. */
function toPromptFile({ prompt }: AgentFile, file: string): string | undefined {
  const path = /^file:\/\/(.+)$/.exec(prompt ?? "")?.[1];
  if (path === undefined) return undefined;
  return path.startsWith("~/") ? join(homedir(), path.slice(2)) : resolve(dirname(file), path);
}

function readAgentFile(file: string, report: Reporting["report"]): AgentFile | undefined {
  try {
    const parsed = agentFileSchema.safeParse(JSON.parse(readFileSync(file, "utf8")));
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    report(`Skipped the agent file "${file}": ${issue?.path.join(".") || "it"}: ${issue?.message}.`);
  } catch (error) {
    report(`Skipped the agent file "${file}": ${reasonOf(error)}.`);
  }
  return undefined;
}

function loadProfile(path: string, report: Reporting["report"]): AgentProfile | undefined {
  try {
    return parseAgentProfile(readFileSync(path, "utf8"), path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    report(error instanceof BudgieError ? error.message : `Cannot read "${path}": ${reasonOf(error)}.`);
    return undefined;
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}

/** In one line: JSON's error messages quote the text they are about. */
function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\s+/g, " ");
}
