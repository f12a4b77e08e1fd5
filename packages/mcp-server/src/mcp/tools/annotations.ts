import type { ToolAnnotations } from "@modelcontextprotocol/sdk/types.js";
import type { Policy } from "@budgie/core";

export type AnnotatedAgents = {
  /** Of every agent that the tool may run */
  readonly policies: readonly Policy[];
  readonly sandbox: boolean;
};

/** What clients may tell their users of a tool that runs agents: the worst of what any of these could do. */
export function toAnnotations({ policies, sandbox }: AnnotatedAgents): ToolAnnotations {
  // Without a sandbox nothing holds an agent, whatever its policy says.
  const mayWrite = !sandbox || policies.some(({ workspace }) => workspace === "rw");
  const mayReachOut = !sandbox || policies.some(({ egress }) => egress.mode !== "none");
  return {
    readOnlyHint: !mayWrite && !mayReachOut,
    destructiveHint: mayWrite,
    idempotentHint: false,
    openWorldHint: mayReachOut,
  };
}

/** Of a tool that tells what budgie knows itself. */
export const HARMLESS: ToolAnnotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};
