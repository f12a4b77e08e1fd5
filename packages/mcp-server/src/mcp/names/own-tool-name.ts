import { type NamingOptions } from "../../config/tool-options.ts";
import { toToolName, type ToolName } from "./tool-name.ts";

/** Budgie's own tools; those that are not offered now are taken all the same, so that none of them ever changes its name. */
export const OWN_TOOLS = ["health-check", "wait", "status", "cancel", "list_agents", "invoke_agent"] as const;

type OwnTool = (typeof OWN_TOOLS)[number];

/** Names a tool of budgie's own: the router's stand alone, as all do where no agent has a tool. */
export function toOwnToolName(own: OwnTool, options: NamingOptions): ToolName {
  const isBare = options.tools === "router" || own === "list_agents" || own === "invoke_agent";
  return isBare ? { name: own, aliases: [] } : toToolName(own, options);
}
