import type { McpServer } from "./config/mcp-server.ts";
import { namesTool, type ToolList } from "./config/parse-tool-lists.ts";

/** A server that may be started, and the tools of it that may be called. */
export type AllowedServer = {
  readonly server: McpServer;
  /** The names of the tools that may be called; `undefined` for all */
  readonly tools?: readonly string[] | undefined;
  /** Lists from the agent's file, as `parseToolLists` returns them; each of them must name the tool too */
  readonly toolLists?: readonly ToolList[] | undefined;
  /** The hash, from `hashTools`, of the tool definitions that the user approved; any other is reported */
  readonly approved?: string | undefined;
  /** Refuses a server whose tools are not the approved ones; by default they are only reported */
  readonly refusesOthers?: boolean | undefined;
};

/** Tells whether a tool may be called: its server's entry does not disable it, and the user's list and all of the agent's name it. */
export function isAllowedTool(tool: string, { server, toolLists = [], tools }: AllowedServer): boolean {
  const isGiven = !server.disabledTools.includes(tool) && (tools === undefined || tools.includes(tool));
  return isGiven && toolLists.every((list) => namesTool(list, server.name, tool));
}
