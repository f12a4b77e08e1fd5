import { BudgieError, type ErrorCode } from "../errors.ts";
import { toDurationText } from "../duration.ts";
import type { Finished } from "../run-to-end.ts";
import { saysFinished, toAnswer, toEvidence, toPlainText } from "./kiro-output.ts";

/** What the messages of a failure name. */
export type FailureContext = {
  readonly agent: string;
  readonly binary: string;
  readonly timeoutMs: number;
  /** Whether the agent handed in its answer as a file */
  readonly answered: boolean;
};

/** Tells why a finished run is not an answer, or `undefined` if it is one. Exit code 0 alone proves nothing. */
export function toKiroFailure(finished: Finished, context: FailureContext): BudgieError | undefined {
  return stopped(finished, context) ?? recognised(finished, context) ?? ended(finished, context);
}

function stopped({ exit, stderr, stdout }: Finished, { agent, binary, timeoutMs }: FailureContext) {
  switch (exit.reason) {
    case "timeout":
      if (LOGIN_WAIT.test(toPlainText(stdout.text + stderr.text))) return loginRequired(agent);
      return new BudgieError(
        "TIMED_OUT",
        `The agent "${agent}" did not finish within ${toDurationText(timeoutMs)} and was stopped. ` +
          `Give it a smaller task, or more time with --agent-timeout.`,
      );
    case "cancelled":
      return new BudgieError("CANCELLED", `The turn of "${agent}" was cancelled, and the agent stopped.`);
    case "shutdown":
      return new BudgieError("CANCELLED", `The turn of "${agent}" was stopped because budgie is ending.`);
    case "command-not-found":
      return new BudgieError(
        "COMMAND_NOT_FOUND",
        `There is no program "${binary}" where the agent runs. Install kiro-cli there (in the sandbox image, for ` +
          `--sandbox), or name it with --kiro-binary.`,
      );
    case "out-of-memory":
      return new BudgieError(
        "OUT_OF_MEMORY",
        `The agent "${agent}" was killed because it used more memory than its sandbox has. Give it a smaller task.`,
      );
    case undefined:
      return undefined;
  }
}

// Printed instead of an answer when there is no login; the real program then waits for ever.
const LOGIN_WAIT = /(?:open|visit) (?:this|the following) (?:URL|link)|device code|confirm the following code/i;

type Symptom = {
  readonly says: RegExp;
  readonly code: ErrorCode;
  readonly toMessage: (agent: string, found: string) => string;
};

// Kiro says these on stderr, with exit code 0, 1 or 4 by version and engine.
const SYMPTOMS: readonly Symptom[] = [
  {
    says: /no agent with name .* found|agent ".*" not found|Mode '.*' not found|Json supplied at .* is invalid/i,
    code: "AGENT_NOT_FOUND",
    toMessage: (agent, found) =>
      `Kiro did not run the agent "${agent}" but fell back to another one ("${found}"). ` +
      `Check that its file is valid and where kiro-cli looks for agents.`,
  },
  {
    says: /You are not logged in|Authentication failed/i,
    code: "LOGIN_REQUIRED",
    toMessage: (agent) => loginRequired(agent).message,
  },
  {
    says: /Model '.*' does not exist[^\n]*/i,
    code: "AGENT_FAILED",
    toMessage: (agent, found) =>
      `Kiro refused the model of the agent "${agent}" ("${found}"). Set another in its prompt file, or with --model.`,
  },
  {
    says: /Tool approval required but --no-interactive was specified/i,
    code: "AGENT_FAILED",
    toMessage: (agent) =>
      `The agent "${agent}" wanted a tool that it may not use unasked, and Kiro ended the turn. ` +
      `Add the tool to its "allowedTools", or start budgie with --trust-all-tools.`,
  },
];

function recognised({ stderr }: Finished, { agent }: FailureContext): BudgieError | undefined {
  const text = toPlainText(stderr.text);
  for (const { says, code, toMessage } of SYMPTOMS) {
    const found = says.exec(text)?.[0];
    if (found !== undefined) return new BudgieError(code, toMessage(agent, found));
  }
  return undefined;
}

// clap's code for bad arguments, and Kiro's for an unknown agent and a failed MCP server: trying again changes nothing.
const FINAL_EXIT_CODES = new Set([2, 3, 4]);

function ended({ exit, stderr, stdout }: Finished, { agent, answered }: FailureContext): BudgieError | undefined {
  const evidence = toEvidence(stderr.text) || toEvidence(stdout.text) || "it said nothing";
  if (exit.signal !== undefined) {
    return new BudgieError("AGENT_CRASHED", `The agent "${agent}" was killed by ${exit.signal}: ${evidence}`);
  }
  if (exit.exitCode !== 0) {
    const code = FINAL_EXIT_CODES.has(exit.exitCode ?? 0) ? "AGENT_FAILED" : "AGENT_CRASHED";
    return new BudgieError(code, `The agent "${agent}" ended with exit code ${exit.exitCode}: ${evidence}`);
  }
  const silent = toAnswer(stdout.text) === "" && !saysFinished(stderr.text);
  if (answered || !silent) return undefined;
  return new BudgieError("AGENT_FAILED", `The agent "${agent}" ended without an answer: ${evidence}`);
}

function loginRequired(agent: string): BudgieError {
  return new BudgieError(
    "LOGIN_REQUIRED",
    `Kiro has no valid login for the agent "${agent}". Run "kiro-cli login" on this machine, or set KIRO_API_KEY.`,
  );
}
