import type { ServerCapabilities } from "@modelcontextprotocol/sdk/types.js";
import { BudgieError } from "@budgie/core";

/** The methods of requests that are forwarded unchanged. Tools are apart, since not all of them may be used. */
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

/** Throws `INPUT_INVALID` for a request beyond a server's capabilities, which it might never answer. */
export function refuseUnoffered(server: string, method: string, capabilities: ServerCapabilities): void {
  const key = CAPABILITIES[method.replace(/\/.*/, "")];
  if (key === undefined || capabilities[key] !== undefined) return;
  throw new BudgieError("INPUT_INVALID", `The MCP server "${server}" has no ${method}.`);
}
