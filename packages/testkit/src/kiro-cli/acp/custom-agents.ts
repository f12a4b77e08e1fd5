import { toReason } from "../profile/exit-error.ts";
import { toAgentFields, toText, type KiroAgent } from "../agent/kiro-agent.ts";
import { parseRules } from "../agent/rule.ts";
import { toRpcError } from "./serve-json-rpc.ts";

/** The agents that a client sends with a session. */
export type CustomAgents = {
  readonly agents: readonly KiroAgent[];
  readonly errors: readonly { readonly path: string; readonly error: string }[];
};

const MOST_AGENTS = 50;

/** Parses `_meta.kiro.customAgents`. An invalid definition is reported and left out. */
export function parseCustomAgents(given: unknown): CustomAgents {
  const list = Array.isArray(given) ? (given as readonly unknown[]) : [];
  if (list.length > MOST_AGENTS) {
    throw toRpcError(-32_602, "Invalid params", `customAgents: at most ${MOST_AGENTS} agents`);
  }
  const agents: KiroAgent[] = [];
  const errors: { path: string; error: string }[] = [];
  for (const each of list) {
    try {
      agents.push(parseCustomAgent((each ?? {}) as Readonly<Record<string, unknown>>));
    } catch (error) {
      const { id } = (each ?? {}) as { readonly id?: unknown };
      errors.push({ path: String(id), error: toReason(error) });
    }
  }
  return { agents, errors };
}

function parseCustomAgent(fields: Readonly<Record<string, unknown>>): KiroAgent {
  const name = toText(fields["id"]);
  const prompt = toText(fields["prompt"]);
  const { tools } = fields;
  if (name === undefined || name === "") throw new Error("id: expected text");
  if (toText(fields["description"]) === undefined) throw new Error("description: expected text");
  if (prompt === undefined || prompt.startsWith("file://")) throw new Error("prompt: expected the text itself");
  if (tools !== undefined && tools !== "*" && !Array.isArray(tools)) throw new Error('tools: expected "*" or a list');
  if (fields["hooks"] !== undefined) throw new Error("hooks: not supported");
  return {
    ...toAgentFields(fields),
    name,
    origin: "client",
    file: undefined,
    allowedTools: [],
    rules: parseRules(fields["permissions"]),
    hooks: new Map(),
    includesMcpJson: true,
  };
}
