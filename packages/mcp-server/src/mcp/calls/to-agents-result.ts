import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { byName } from "../names/find-tool.ts";
import { shorten } from "../tools/fit-description.ts";
import type { ListedAgent } from "../tools/tool.ts";

// Clients truncate what they display at about this length.
const LONGEST_BYTES = 100_000;
const SHORTEST_BYTES = 100;

/** Returns the result of `list_agents`: the agents sorted by name, as text and as structured content. */
export function toAgentsResult(agents: readonly ListedAgent[]): CallToolResult {
  const room = Math.max(Math.floor(LONGEST_BYTES / Math.max(agents.length, 1)), SHORTEST_BYTES);
  const listed = agents.map((agent) => truncateFields(agent, room)).toSorted(byName);
  const text = listed.map(agentText).join("\n\n") || "There are no agents.";
  return { content: [{ type: "text", text }], structuredContent: { agents: listed } };
}

/** Truncates the fields of an agent, so that a long description leaves room for the others. */
function truncateFields({ description, name, sandbox = "", whenToUse }: ListedAgent, room: number): ListedAgent {
  // With hundreds of agents there is no room for it.
  const isTold = sandbox !== "" && Buffer.byteLength(sandbox) <= room / 4;
  const left = isTold ? room - Buffer.byteLength(sandbox) : room;
  const when = shorten(whenToUse, Math.ceil(left / 2));
  const short = shorten(description, left - Buffer.byteLength(when));
  return { name, description: short, whenToUse: when, ...(isTold ? { sandbox } : {}) };
}

function agentText({ description, name, sandbox = "", whenToUse }: ListedAgent): string {
  const said = [description, whenToUse, sandbox].filter((text) => text !== "").join("\n\n");
  return `${name}\n${said.replace(/^(?=.)/gm, "  ")}`;
}
