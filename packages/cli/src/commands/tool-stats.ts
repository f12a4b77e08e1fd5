import type { Agent } from "@budgie/core";
import type { ToolMode } from "@budgie/mcp-server";
import {
  toAgentsResult,
  buildLongCallTools,
  buildTools,
  type Tool,
  type ToolOptions,
} from "@budgie/mcp-server/commands";
import { TOOL_MODES } from "../options/option-values.ts";
import { formatTable } from "../terminal/format-table.ts";

/** The cost of offering the agents in each mode. */
export type ToolStats = {
  readonly bytesPerToken: number;
  readonly modes: readonly ModeStats[];
  /** The cost of an answer of `list_agents` */
  readonly listAgents: Cost;
  /** The additional cost for a client with a soft deadline */
  readonly longCalls: Pick<ModeStats, "answer" | "model">;
};

type ModeStats = {
  readonly mode: ToolMode;
  readonly isInUse: boolean;
  readonly tools: number;
  /** The cost of the answer to `tools/list` */
  readonly answer: Cost;
  /** The cost of the part that most clients pass to their model */
  readonly model: Cost;
};

type Cost = { readonly bytes: number; readonly tokens: number };

// A rule of thumb for English and JSON; tokenizers differ.
const BYTES_PER_TOKEN = 4;

/** Calculates the cost of offering these agents in each mode. */
export function measureTools(agents: readonly Agent[], options: ToolOptions): ToolStats {
  return {
    bytesPerToken: BYTES_PER_TOKEN,
    modes: TOOL_MODES.map((mode) => measureMode(mode, options, buildTools(agents, { ...options, tools: mode }))),
    listAgents: measureCost({ isError: false, ...toAgentsResult(findListed(agents, options)) }),
    longCalls: measureCosts(buildLongCallTools(options)),
  };
}

function findListed(agents: readonly Agent[], options: ToolOptions) {
  const purposes = buildTools(agents, { ...options, tools: "router" }).map(({ purpose }) => purpose);
  return purposes.flatMap((purpose) => (purpose.kind === "list-agents" ? purpose.agents : []));
}

function measureMode(mode: ToolMode, options: ToolOptions, tools: readonly Tool[]): ModeStats {
  return { mode, isInUse: mode === options.tools, tools: tools.length, ...measureCosts(tools) };
}

function measureCosts(tools: readonly Pick<Tool, "definition">[]): Pick<ModeStats, "answer" | "model"> {
  const definitions = tools.map(({ definition }) => definition);
  const forModel = definitions.map(({ description, inputSchema, name }) => ({ name, description, inputSchema }));
  return { answer: measureCost({ tools: definitions }), model: measureCost(forModel) };
}

function measureCost(value: unknown): Cost {
  const bytes = Buffer.byteLength(JSON.stringify(value));
  return { bytes, tokens: Math.ceil(bytes / BYTES_PER_TOKEN) };
}

/** Returns the costs as a table, with notes on the estimate. */
export function formatToolStats({ bytesPerToken, listAgents, longCalls, modes }: ToolStats): string {
  const head = ["MODE", "TOOLS", "BYTES", "TOKENS", "MODEL BYTES", "MODEL TOKENS", ""];
  const rows = modes.map(({ answer, isInUse, mode, model, tools }) => [
    mode,
    ...[tools, answer.bytes, answer.tokens, model.bytes, model.tokens].map(String),
    isInUse ? "in use" : "",
  ]);
  const notes = [
    "BYTES is the whole answer to tools/list, MODEL BYTES the names, descriptions and input schemas in it, which are what",
    "most clients hand to their model with every request. TOKENS are no more than an estimate, at " +
      `${bytesPerToken} bytes a token.`,
    `With router or both, each answer of list_agents costs ${listAgents.bytes} bytes more, about ${listAgents.tokens} tokens.`,
    `Clients with a soft deadline have wait, status and cancel besides: about ${longCalls.model.tokens} tokens for their model.`,
  ];
  return `${[...formatTable([head, ...rows]), "", ...notes].join("\n")}\n`;
}
