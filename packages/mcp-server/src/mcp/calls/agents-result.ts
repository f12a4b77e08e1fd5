import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { Agent } from "@budgie/core";
import { byName } from "../names/find-tool.ts";
import { shorten } from "../tools/tool-description.ts";

// Clients truncate what they display at about this length.
const LONGEST_BYTES = 100_000;
const SHORTEST_BYTES = 100;

/** Returns the result of `list_agents`: the agents sorted by name, as text and as structured content. */
export function toAgentsResult(agents: readonly Agent[]): CallToolResult {
  const room = Math.max(Math.floor(LONGEST_BYTES / Math.max(agents.length, 1)), SHORTEST_BYTES);
  const listed = agents.map((agent) => toListed(agent, room)).toSorted(byName);
  const text = listed.map(agentText).join("\n\n") || "There are no agents.";
  return { content: [{ type: "text", text }], structuredContent: { agents: listed } };
}

type Listed = Pick<Agent, "name" | "description" | "whenToUse">;

/** Truncates the fields of an agent, so that a long description leaves room for `whenToUse`. */
function toListed({ description, name, whenToUse }: Agent, room: number): Listed {
  const when = shorten(whenToUse, Math.ceil(room / 2));
  return { name, description: shorten(description, room - Buffer.byteLength(when)), whenToUse: when };
}

function agentText({ description, name, whenToUse }: Listed): string {
  const said = [description, whenToUse].filter((text) => text !== "").join("\n\n");
  return `${name}\n${said.replace(/^(?=.)/gm, "  ")}`;
}
