import type { ToolAnnotations } from "@modelcontextprotocol/sdk/types.js";
import type { Policy } from "@budgie/core/policy";

export type AnnotatedAgents = {
  /** The policy of every agent that the tool may run */
  readonly policies: readonly Policy[];
  readonly sandbox: boolean;
};

/** Returns the annotations of a tool that runs agents: the worst that any of these agents could do. */
export function chooseAnnotations({ policies, sandbox }: AnnotatedAgents): ToolAnnotations {
  // Without a sandbox no policy is enforced.
  const mayWrite = !sandbox || policies.some(({ workspace }) => workspace === "rw");
  const mayReachOut = !sandbox || policies.some(({ egress }) => egress.mode !== "none");
  return {
    readOnlyHint: !mayWrite && !mayReachOut,
    destructiveHint: mayWrite,
    idempotentHint: false,
    openWorldHint: mayReachOut,
  };
}

/** The annotations of a tool that only returns budgie's own state. */
export const HARMLESS: ToolAnnotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};
