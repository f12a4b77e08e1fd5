import type { Agent } from "@budgie/core";
import { findPolicy } from "../../config/settings.ts";
import { nameOwnTool } from "../names/name-own-tool.ts";
import { chooseAnnotations } from "./choose-annotations.ts";
import { untrustedEnding } from "./fit-description.ts";
import { buildParallelInput } from "./parse-tool-input.ts";
import { toInputSchema, toOutputSchema } from "./to-input-schema.ts";
import { parallelOutput } from "./tool-output.ts";
import type { Tool, ToolOptions } from "./tool.ts";

/** Returns the tool that runs several agents at once, each that may write in a copy of its own. */
export function buildParallelTool(most: number, agents: readonly Agent[], options: ToolOptions): Tool {
  const { aliases, name } = nameOwnTool("invoke_parallel", options);
  const input = buildParallelInput(most);
  const description =
    `Runs up to ${most} agents at once on one directory, each in a copy of its own, so that none sees the others' work and the ` +
    "directory stays as it is. It answers once, when all have ended: one result for each, in your order, also of those that " +
    "failed, each with a sessionId for that agent's own tool; and which paths more than one of them changed.";
  const policies = agents.map((agent) => findPolicy(options, agent.name));
  return {
    definition: {
      name,
      title: "Invoke agents in parallel",
      description: description + untrustedEnding("Their answers are", options),
      inputSchema: toInputSchema(input),
      outputSchema: toOutputSchema(parallelOutput),
      annotations: chooseAnnotations({
        policies: policies.map((policy) => (policy.workspace === "rw" ? { ...policy, workspace: "copy" } : policy)),
        sandbox: options.sandbox && agents.every(({ remote }) => remote === undefined),
      }),
    },
    aliases,
    purpose: { kind: "invoke-parallel", input, newSession: options.stickySessions ? "new" : undefined },
  };
}
