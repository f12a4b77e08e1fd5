/** The values of `--tools`: a tool for each agent, the router's two for all of them, or both. */
export const TOOL_MODES = ["agents", "router", "both"] as const;

export type ToolMode = (typeof TOOL_MODES)[number];

/** The values of `--tool-names`: the spelling of the first budgie, or one that every client accepts. */
export const SPELLINGS = ["dotted", "safe"] as const;

export type NamingOptions = {
  readonly toolPrefix: string;
  readonly toolNames: (typeof SPELLINGS)[number];
  readonly tools: ToolMode;
};

/**
 * The time after which a call is answered before its agent has finished: milliseconds, `auto` to go by the client's known timeout,
 * or `never`.
 */
export type SoftDeadline = number | "auto" | "never";
