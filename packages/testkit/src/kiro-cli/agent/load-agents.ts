import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { toExitError, toReason } from "../profile/exit-error.ts";
import { kiroFolder } from "../profile/kiro-folder.ts";
import type { Settings } from "../profile/settings.ts";
import { readAgentFile, type AgentFile } from "./read-agent-file.ts";
import { toBundledAgent, type KiroAgent } from "./kiro-agent.ts";

export type AgentSet = {
  readonly agents: ReadonlyMap<string, KiroAgent>;
  /** Warnings for stderr */
  readonly warnings: readonly string[];
};

/** Loads all agent files of the current folder and the user, and skips invalid ones with a warning. */
export async function loadAgents(settings: Settings): Promise<AgentSet> {
  const agents = new Map<string, KiroAgent>();
  const warnings: string[] = [];
  for (const found of listAgentFiles(settings)) {
    const agent = await readAgent(found, settings, warnings);
    if (agent === undefined) continue;
    if (agents.has(agent.name)) warnings.push(`WARNING: Agent conflict for ${agent.name}. Using workspace version.`);
    else agents.set(agent.name, agent);
  }
  return { agents, warnings };
}

/** Lists the files of agents. Only V3 reads Markdown, and folders below. */
export function listAgentFiles(settings: Settings): readonly AgentFile[] {
  const recursive = settings.harness === "v3";
  const ending = recursive ? /\.(?:json|md)$/ : /\.json$/;
  return agentFolders(settings).flatMap(({ origin, path }) => {
    const names = existsSync(path) ? readdirSync(path, { recursive, encoding: "utf8" }) : [];
    const files = names.filter((name) => ending.test(name)).toSorted();
    return files.map((name) => ({ file: join(path, name), name: name.replace(ending, ""), origin }));
  });
}

type Folder = Pick<KiroAgent, "origin"> & { readonly path: string };

/** Lists the folders of agents, of which the first wins; the first engine also reads the older name of the folder. */
function agentFolders({ profile, traits }: Settings): readonly Folder[] {
  const replaced = process.env["KIRO_AGENT_CONFIG_DIR"];
  if (replaced && traits.hasV3) return [{ path: replaced, origin: "user" }];
  const user: Folder = { path: join(kiroFolder(), "agents"), origin: "user" };
  if (process.cwd() === homedir()) return [user];
  const toFolder = (...names: readonly string[]): Folder => ({
    path: join(process.cwd(), ...names),
    origin: "workspace",
  });
  const older = profile === "q1" ? [toFolder(".amazonq", "cli-agents")] : [];
  return [toFolder(".kiro", "agents"), ...older, user];
}

async function readAgent(found: AgentFile, settings: Settings, warnings: string[]): Promise<KiroAgent | undefined> {
  try {
    return await readAgentFile(found, settings);
  } catch (error) {
    warnings.push(`Error: Json supplied at ${found.file} is invalid: ${toReason(error)}`);
    return undefined;
  }
}

/** The name of each harness's own agent. */
const DEFAULT_AGENTS = { v2: "kiro_default", v3: "vibe" } as const;

/** Picks the agent. An unknown one is replaced by the default with a warning on stderr, unless the version is strict. */
export function pickAgent(
  name: string | undefined,
  { agents }: AgentSet,
  settings: Settings,
): { readonly agent: KiroAgent; readonly warning: string | undefined } {
  const own = toBundledAgent(DEFAULT_AGENTS[settings.harness]);
  if (name === undefined || name === own.name) return { agent: agents.get(own.name) ?? own, warning: undefined };
  const agent = agents.get(name);
  if (agent !== undefined) return { agent, warning: undefined };
  if (settings.strictAgent ?? (settings.traits.hasV3 && settings.harness === "v2"))
    throw toExitError(4, `error: agent "${name}" not found`);
  return { agent: own, warning: toWarning(name, settings) };
}

function toWarning(name: string, { harness, profile }: Settings): string | undefined {
  if (harness === "v3") return undefined;
  return profile === "q1"
    ? `Error: no agent with name ${name} found. Falling back to user specified default`
    : `warning: agent "${name}" not found, using "${DEFAULT_AGENTS.v2}"`;
}
