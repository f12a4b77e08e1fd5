import type { McpServer } from "./config/mcp-server.ts";
import { namesTool, type ToolList } from "./config/tool-lists.ts";

/** A server that may be started, and what of it may be used. */
export type AllowedServer = {
  readonly server: McpServer;
  /** The names of the tools that may be called; `undefined` for all */
  readonly tools?: readonly string[] | undefined;
  /** The lists of the agent's file, as `parseToolLists` returns them, each of which must name a tool too */
  readonly toolLists?: readonly ToolList[] | undefined;
  /** The hash of the tools' words when someone approved them, as `hashTools` makes it; others are reported */
  readonly approved?: string | undefined;
};

/** Tells whether a tool may be called: the entry does not switch it off, and the user's list and those of the agent name it. */
export function isAllowed(tool: string, { server, toolLists = [], tools }: AllowedServer): boolean {
  const isGiven = !server.disabledTools.includes(tool) && (tools === undefined || tools.includes(tool));
  return isGiven && toolLists.every((list) => namesTool(list, server.name, tool));
}
