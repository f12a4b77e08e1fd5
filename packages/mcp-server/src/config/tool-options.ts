/** What is offered: a tool for each agent, the router's two for all of them, or both. */
export const TOOL_MODES = ["agents", "router", "both"] as const;

export type ToolMode = (typeof TOOL_MODES)[number];
