/** The tools on offer: one for each agent, the router's two for all of them, or both. */
export type ToolMode = "agents" | "router" | "both";

export type NamingOptions = {
  readonly toolPrefix: string;
  readonly toolNames: "dotted" | "safe";
  readonly tools: ToolMode;
};

/**
 * The time after which a call is answered before its agent has finished: milliseconds, `auto` to go by the client's known timeout,
 * or `never`.
 */
export type SoftDeadline = number | "auto" | "never";
