import type { Agent } from "../agents/agent.ts";
import { BudgieError } from "../errors.ts";
import type { Hygiene } from "../protocol/hygiene.ts";
import { parsePrompt } from "./parse-prompt.ts";
import { refuseLoosening } from "./refuse-loosening.ts";
import { toTighterPolicy, type Policy } from "../policy/policy.ts";
import type { TurnRequest } from "./turn.ts";
import { checkWorkspace } from "../policy/check-workspace.ts";
import type { WorkspaceRules } from "../policy/workspace-rules.ts";

/** What a request came to: all of it was looked at, and nothing was begun. */
export type CheckedRequest = {
  readonly agent: Agent;
  /** Cleaned */
  readonly prompt: string;
  /** As the caller sent it */
  readonly promptBytes: number;
  readonly policy: Policy;
  /** Absolute, and without links */
  readonly directory: string;
  readonly sessionId: string | undefined;
};

export type RequestRules = {
  readonly agents: () => readonly Agent[];
  readonly hygiene: Hygiene;
  readonly policyOf: (agent: string) => Policy;
  readonly workspaceRules: WorkspaceRules;
};

/** Checks what a caller asks for, or throws the `BudgieError` that says what is wrong with it. */
export async function checkRequest(request: TurnRequest, rules: RequestRules): Promise<CheckedRequest> {
  const agent = findAgent(rules.agents(), request.agent);
  const prompt = parsePrompt(request.prompt, agent.name, rules.hygiene);
  const policy = toTighterPolicy(rules.policyOf(agent.name), request.tightening ?? {}, refuseLoosening);
  const directory = await checkWorkspace(request.directory, rules.workspaceRules);
  const promptBytes = Buffer.byteLength(request.prompt);
  return { agent, prompt, promptBytes, policy, directory, sessionId: request.sessionId };
}

/** Finds an agent by its name, or throws `AGENT_NOT_FOUND`. */
export function findAgent(agents: readonly Agent[], name: string): Agent {
  const agent = agents.find((candidate) => candidate.name === name);
  if (agent !== undefined) return agent;
  const known = agents.map((candidate) => `"${candidate.name}"`).join(", ") || "none";
  throw new BudgieError("AGENT_NOT_FOUND", `There is no agent "${name}". Known agents: ${known}.`);
}

/** Throws `AGENT_NOT_FOUND` for a session whose agent is broken: Kiro would go on in it with another, and end it so. */
export function refuseBroken({ broken, file, name }: Agent, sessionId: string): void {
  if (broken === undefined) return;
  const error = new BudgieError(
    "AGENT_NOT_FOUND",
    `Kiro would not find the agent "${name}" now: its file "${file}" cannot be used (${broken}). Mend it, and call again.`,
  );
  error.sessionId = sessionId;
  throw error;
}
