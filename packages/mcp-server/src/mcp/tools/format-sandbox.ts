import type { Agent } from "@budgie/core";
import { formatAccess } from "@budgie/core/policy";
import type { ToolOptions } from "./tool.ts";

/**
 * Returns the sentences that say what an agent can do in its sandbox, so that nobody asks it for what it cannot; empty for an agent without
 * one.
 */
export function formatSandbox(
  agent: Agent,
  { imageTools = [], policies, sandbox, toolsOfImages }: ToolOptions,
): string {
  if (!sandbox || agent.remote !== undefined) return "";
  const policy = policies.agents.get(agent.name) ?? policies.ceiling;
  const image = agent.program?.image;
  const tools = image === undefined ? imageTools : (toolsOfImages?.get(image) ?? []);
  return `It runs in a sandbox: ${formatAccess(policy, { subject: "it", imageTools: tools })}`;
}
