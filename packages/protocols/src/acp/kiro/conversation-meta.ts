import type { KiroRequest } from "../../kiro/v3/custom-agent.ts";

type Meta = { readonly _meta?: { readonly kiro: Readonly<Record<string, unknown>> } };

/** Returns what V3 gets with each conversation that is begun or loaded: its agent, and the choice of it. Empty for others. */
export function conversationMeta(request: KiroRequest | undefined): Meta {
  if (request?.harness !== "v3") return {};
  return { _meta: { kiro: { customAgents: [request.agent], modeId: request.agent.id } } };
}

/** Returns true if Kiro's V3 harness must answer. */
export function isV3({ kiro }: { readonly kiro?: KiroRequest | undefined }): boolean {
  return kiro?.harness === "v3";
}

/** Returns what V3 gets with each prompt. A mode that is only set is shown by it, and not always used. */
export function promptMeta(request: KiroRequest | undefined): Meta {
  return request?.harness === "v3" ? { _meta: { kiro: { modeId: request.agent.id } } } : {};
}
