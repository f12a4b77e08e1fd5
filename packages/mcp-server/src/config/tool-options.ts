/** What is offered: a tool for each agent, the router's two for all of them, or both. */
export const TOOL_MODES = ["agents", "router", "both"] as const;

export type ToolMode = (typeof TOOL_MODES)[number];

/** How tools' names are spelled: as the first budgie did, or as every client takes them. */
export const SPELLINGS = ["dotted", "safe"] as const;

export type NamingOptions = {
  readonly toolPrefix: string;
  readonly toolNames: (typeof SPELLINGS)[number];
  readonly tools: ToolMode;
};

/** When a call is answered though its agent has not finished: in milliseconds, or by what the client is known to bear. */
export type SoftDeadline = number | "auto" | "never";
