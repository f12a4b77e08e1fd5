import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { Agent } from "@budgie/core";
import { byName } from "../names/find-tool.ts";
import { shorten } from "../tools/tool-description.ts";

// What clients show of an answer ends about there.
const LONGEST_BYTES = 100_000;
const SHORTEST_BYTES = 100;

/** The result of `list_agents`: the agents in the order of their names, for a model to read and for a program. */
export function toAgentsResult(agents: readonly Agent[]): CallToolResult {
  const room = Math.max(Math.floor(LONGEST_BYTES / Math.max(agents.length, 1)), SHORTEST_BYTES);
  const listed = agents.map((agent) => toListed(agent, room)).toSorted(byName);
  const text = listed.map(agentText).join("\n\n") || "There are no agents.";
  return { content: [{ type: "text", text }], structuredContent: { agents: listed } };
}

type Listed = Pick<Agent, "name" | "description" | "whenToUse">;

/** What to choose an agent by is not what a long description of it pushes out. */
function toListed({ description, name, whenToUse }: Agent, room: number): Listed {
  const when = shorten(whenToUse, Math.ceil(room / 2));
  return { name, description: shorten(description, room - Buffer.byteLength(when)), whenToUse: when };
}

function agentText({ description, name, whenToUse }: Listed): string {
  const said = [description, whenToUse].filter((text) => text !== "").join("\n\n");
  return `${name}\n${said.replace(/^(?=.)/gm, "  ")}`;
}
