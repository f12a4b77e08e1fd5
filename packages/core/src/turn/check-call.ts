import type { Agent } from "../agents/agent.ts";
import { BudgieError } from "../errors.ts";
import { formatOption } from "../option-name.ts";
import { checkWorkspace } from "../policy/check-workspace.ts";
import { narrowPolicy, type Loosening, type Policy } from "../policy/policy.ts";
import type { WorkspaceRules } from "../policy/workspace-rules.ts";
import type { TextLimits } from "./text-limits.ts";
import { formatDuration } from "../text/parse-duration.ts";
import { sanitizeText } from "../text/sanitize-text.ts";
import { formatCount } from "../text/truncate-text.ts";
import type { CheckedRequest, TurnRequest } from "./turn-request.ts";

export type CallRules = {
  readonly agents: () => readonly Agent[];
  readonly textLimits: TextLimits;
  readonly policyOf: (agent: string, directory: string) => Policy;
  readonly workspaceRules: WorkspaceRules;
};

/** Checks a call, or throws a `BudgieError` that says what is wrong with it. */
export async function checkCall(request: TurnRequest, rules: CallRules): Promise<CheckedRequest> {
  const agent = findAgent(rules.agents(), request.agent);
  refuseUnenforceable(agent, request);
  const prompt = parsePrompt(request.prompt, agent.name, rules.textLimits);
  const directory = await checkWorkspace(request.directory, rules.workspaceRules);
  const policy = narrowPolicy(
    chooseCeiling(request, rules.policyOf(agent.name, directory)),
    request.tightening ?? {},
    loosenedError,
  );
  const promptBytes = Buffer.byteLength(request.prompt);
  return { agent, prompt, promptBytes, policy, directory, sessionId: request.sessionId };
}

/** Returns the policy that a call cannot exceed. Calls that share a base would overwrite each other's files in the directory itself. */
function chooseCeiling({ sharedBase }: TurnRequest, policy: Policy): Policy {
  return sharedBase !== undefined && policy.workspace === "rw" ? { ...policy, workspace: "copy" } : policy;
}

/** Finds an agent by its name, or throws `AGENT_NOT_FOUND`. */
export function findAgent(agents: readonly Agent[], name: string): Agent {
  const agent = agents.find((candidate) => candidate.name === name);
  if (agent !== undefined) return agent;
  const known = agents.map((candidate) => `"${candidate.name}"`).join(", ") || "none";
  throw new BudgieError("AGENT_NOT_FOUND", `There is no agent "${name}". Known agents: ${known}.`);
}

/**
 * Throws `INPUT_INVALID` for an egress restriction of an agent that runs elsewhere. A restriction of the workspace needs no enforcement,
 * since the agent does not get the directory.
 */
function refuseUnenforceable({ name, remote }: Agent, { tightening }: TurnRequest): void {
  if (remote === undefined || tightening?.egress === undefined) return;
  throw new BudgieError(
    "INPUT_INVALID",
    `The agent "${name}" runs elsewhere, where nothing enforces the argument "egress". Leave it out.`,
  );
}

/** Throws `AGENT_NOT_FOUND` if the agent is broken. Kiro would resume its session with another agent, which ends the session. */
export function refuseBroken({ broken, file, name }: Agent, sessionId: string): void {
  if (broken === undefined) return;
  throw new BudgieError(
    "AGENT_NOT_FOUND",
    `Kiro would not find the agent "${name}" now: its file "${file}" cannot be used (${broken}). Correct it, and call again.`,
    { report: { sessionId } },
  );
}

/** Checks and sanitizes a caller's prompt, or throws `INPUT_INVALID`. */
export function parsePrompt(prompt: string, agent: string, { maxPromptBytes, sanitize }: TextLimits): string {
  const bytes = Buffer.byteLength(prompt);
  if (maxPromptBytes > 0 && bytes > maxPromptBytes) {
    throw new BudgieError(
      "INPUT_INVALID",
      `The prompt for "${agent}" has ${formatCount(bytes)} bytes, and ${formatCount(maxPromptBytes)} are allowed. ` +
        `Put the material into a file in the directory and name that, or raise ${formatOption("maxPromptBytes")}.`,
    );
  }
  const text = sanitize ? sanitizeText(prompt) : prompt;
  if (text.trim() !== "") return text;
  throw new BudgieError("INPUT_INVALID", `The prompt for "${agent}" is empty. Say what the agent should do.`);
}

/** Creates the error for a call that asks for more than its agent's policy allows. */
function loosenedError({ asked, most, option }: Loosening): BudgieError {
  const [wish, bound] =
    option === "timeout" ? [formatDuration(Number(asked)), formatDuration(Number(most))] : [asked, most];
  return new BudgieError(
    "INPUT_INVALID",
    `The argument "${option}" cannot be "${wish}": this agent is allowed "${bound}", and a call can only ask for less. ` +
      `Leave it out.`,
  );
}
