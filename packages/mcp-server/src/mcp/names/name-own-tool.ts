import { type NamingOptions } from "../../config/naming-options.ts";
import { toToolName, type ToolName } from "./tool-name.ts";

/** Budgie's own tools. Their names are reserved even if they are not offered, so that no tool's name depends on an option. */
export const OWN_TOOLS = [
  "health-check",
  "wait",
  "status",
  "cancel",
  "changes",
  "apply_changes",
  "discard_changes",
  "list_agents",
  "invoke_agent",
  "invoke_parallel",
] as const;

type OwnTool = (typeof OWN_TOOLS)[number];

const ROUTER_TOOLS: ReadonlySet<OwnTool> = new Set(["list_agents", "invoke_agent", "invoke_parallel"]);

/** Returns the name of one of budgie's own tools. The router's tools have no prefix; with `--tools router`, none has. */
export function nameOwnTool(own: OwnTool, options: NamingOptions): ToolName {
  const isBare = options.tools === "router" || ROUTER_TOOLS.has(own);
  return isBare ? { name: own, aliases: [] } : toToolName(own, options);
}
