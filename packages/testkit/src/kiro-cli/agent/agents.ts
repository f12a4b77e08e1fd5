import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { toExitError, toReason } from "../profile/exit-error.ts";
import { kiroFolder } from "../profile/paths.ts";
import type { Settings } from "../profile/settings.ts";
import { readAgentFile, type AgentFile } from "./agent-file.ts";
import { toBundledAgent, type KiroAgent } from "./kiro-agent.ts";

export type AgentSet = {
  readonly agents: ReadonlyMap<string, KiroAgent>;
  /** Warnings for stderr */
  readonly warnings: readonly string[];
};

/** Loads all agent files of the current folder and the user, and skips invalid ones with a warning. */
export function loadAgents(settings: Settings): AgentSet {
  const agents = new Map<string, KiroAgent>();
  const warnings: string[] = [];
  for (const found of agentFolders(settings).flatMap(listFiles)) {
    const agent = readAgent(found, settings, warnings);
    if (agent === undefined) continue;
    if (agents.has(agent.name)) warnings.push(`WARNING: Agent conflict for ${agent.name}. Using workspace version.`);
    else agents.set(agent.name, agent);
  }
  return { agents, warnings };
}

type Folder = Pick<KiroAgent, "origin"> & { readonly path: string };

/** Lists the folders of agents, of which the first wins; the first engine also reads the older name of the folder. */
function agentFolders({ profile }: Settings): readonly Folder[] {
  const replaced = process.env["KIRO_AGENT_CONFIG_DIR"];
  if (replaced && (profile === "v2late" || profile === "v3")) return [{ path: replaced, origin: "user" }];
  const user: Folder = { path: join(kiroFolder(), "agents"), origin: "user" };
  if (process.cwd() === homedir()) return [user];
  const toFolder = (...names: readonly string[]): Folder => ({
    path: join(process.cwd(), ...names),
    origin: "workspace",
  });
  const older = profile === "q1" ? [toFolder(".amazonq", "cli-agents")] : [];
  return [toFolder(".kiro", "agents"), ...older, user];
}

function listFiles({ origin, path }: Folder): readonly AgentFile[] {
  if (!existsSync(path)) return [];
  const names = readdirSync(path).filter((name) => name.endsWith(".json"));
  return names.toSorted().map((name) => ({ file: join(path, name), name: basename(name, ".json"), origin }));
}

function readAgent(found: AgentFile, settings: Settings, warnings: string[]): KiroAgent | undefined {
  try {
    return readAgentFile(found, settings);
  } catch (error) {
    warnings.push(`Error: Json supplied at ${found.file} is invalid: ${toReason(error)}`);
    return undefined;
  }
}

/** The name of each harness's own agent. */
export const DEFAULT_AGENTS = { v2: "kiro_default", v3: "vibe" } as const;

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
  if (settings.strictAgent ?? isStrict(settings)) throw toExitError(4, `error: agent "${name}" not found`);
  return { agent: own, warning: toWarning(name, settings) };
}

function isStrict({ harness, profile }: Settings): boolean {
  return harness === "v2" && (profile === "v2late" || profile === "v3");
}

function toWarning(name: string, { harness, profile }: Settings): string | undefined {
  if (harness === "v3") return undefined;
  return profile === "q1"
    ? `Error: no agent with name ${name} found. Falling back to user specified default`
    : `warning: agent "${name}" not found, using "${DEFAULT_AGENTS.v2}"`;
}

/** Returns the table of `agent list`. */
export function toAgentTable({ agents }: AgentSet): string {
  const rows = [...agents.values(), toBundledAgent(DEFAULT_AGENTS.v2)].map(
    ({ name, file }) => `${name.padEnd(24)} ${file === undefined ? "**No path found**" : dirname(file)}`,
  );
  return rows.join("\n");
}
