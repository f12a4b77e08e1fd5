import type { ServerCapabilities } from "@modelcontextprotocol/sdk/types.js";
import { BudgieError } from "@budgie/core";

/** The requests that are passed on as they are. Tools have calls of their own, since not all may be used. */
export const FORWARDED_METHODS = [
  "completion/complete",
  "prompts/get",
  "prompts/list",
  "resources/list",
  "resources/read",
  "resources/templates/list",
] as const;

export type ForwardedMethod = (typeof FORWARDED_METHODS)[number];

const CAPABILITIES: Readonly<Record<string, keyof ServerCapabilities>> = {
  completion: "completions",
  prompts: "prompts",
  resources: "resources",
};

/** Throws `INPUT_INVALID` for a request that a server does not say that it answers. It may leave such requests unanswered. */
export function refuseUnoffered(server: string, method: string, capabilities: ServerCapabilities): void {
  const key = CAPABILITIES[method.replace(/\/.*/, "")];
  if (key === undefined || capabilities[key] !== undefined) return;
  throw new BudgieError("INPUT_INVALID", `The MCP server "${server}" has no ${method}.`);
}
