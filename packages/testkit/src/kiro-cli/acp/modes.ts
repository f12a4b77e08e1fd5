import { loadAgents } from "../agent/load-agents.ts";
import { toBundledAgent, type KiroAgent } from "../agent/kiro-agent.ts";
import type { Settings } from "../profile/settings.ts";
import type { Client } from "./serve-json-rpc.ts";

/** The modes of a session of V3: the agents by their ids. */
export type Modes = ReadonlyMap<string, KiroAgent>;

const BUNDLED = ["vibe", "spec", "plan"].map(toBundledAgent);

/** Collects the modes of a session in the current folder. A later one replaces an earlier one of the same id. */
export async function collectModes(
  custom: readonly KiroAgent[],
  settings: Settings,
): Promise<{ readonly modes: Modes; readonly warnings: readonly string[] }> {
  const { agents, warnings } = await loadAgents(settings);
  const of = (wanted: KiroAgent["origin"]) => [...agents.values()].filter(({ origin }) => origin === wanted);
  const all = [...of("user"), ...custom, ...of("workspace"), ...BUNDLED];
  return { modes: new Map(all.map((agent) => [agent.name, agent])), warnings };
}

/** The session that asks for a mode. */
export type Asking = { readonly client: Client; readonly id: string; readonly modes: Modes };

/** Returns the agent of a mode. `vibe` answers for an unknown one, and the client is told so. */
export async function findMode(mode: string, { client, id, modes }: Asking): Promise<KiroAgent> {
  const agent = modes.get(mode);
  if (agent !== undefined) return agent;
  const fallback = { requestedAgent: mode, fallbackAgent: "vibe" };
  await client.notify("_kiro/customAgent/not_found", { sessionId: id, ...fallback });
  return toBundledAgent("vibe");
}

/** Returns the modes as the client sees them. */
export function toModeState(modes: Modes, currentModeId: string) {
  const availableModes = [...modes.values()].map(({ name, origin }) => ({
    id: name,
    name,
    _meta: { kiro: { resource: { source: { origin } } } },
  }));
  return { currentModeId, availableModes };
}
