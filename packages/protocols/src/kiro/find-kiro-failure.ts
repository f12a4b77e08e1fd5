import { BudgieError, type ErrorCode, formatOption } from "@budgie/core";
import { findExitFailure, type Finished } from "@budgie/core/protocol";
import { hasMessage, saysFinished, extractAnswer, lastLines, findLineAt, withoutTerminalCodes } from "./kiro-output.ts";

/** The facts that the messages name. */
export type FailureContext = {
  readonly agent: string;
  readonly binary: string;
  readonly timeoutMs: number;
  /** True if the agent wrote its answer to a file */
  readonly answered: boolean;
};

/** Finds the failure of a finished run; `undefined` if the run gave an answer. Exit code 0 alone proves nothing. */
export function findKiroFailure(finished: Finished, context: FailureContext): BudgieError | undefined {
  const failure = ranAnother(finished, context) ?? stopped(finished, context);
  if (failure !== undefined || isAnswer(finished, context)) return failure;
  return recognised(finished.stderr.text, context.agent) ?? ended(finished, context);
}

// Printed on stderr before Kiro's default agent answers, with that agent's permissions and with exit code 0.
const FALLBACKS = [
  ["no agent with name ", " found"],
  ['agent "', '" not found, using'],
] as const;
// Newer versions exit with this code instead.
const UNKNOWN_AGENT_EXIT_CODE = 4;

/** Detects that another agent answered instead of the one that was called. */
function ranAnother({ exit, stderr }: Finished, { agent }: FailureContext): BudgieError | undefined {
  const found = withoutTerminalCodes(stderr.text).split("\n").find(saysFallback);
  if (found === undefined && exit.exitCode !== UNKNOWN_AGENT_EXIT_CODE) return undefined;
  return agentNotFound(agent, found ?? stderr.text);
}

function agentNotFound(agent: string, evidence: string): BudgieError {
  return new BudgieError(
    "AGENT_NOT_FOUND",
    `Kiro did not find the agent "${agent}" (${lastLines(evidence)}). ` +
      `Check that its file is valid and where kiro-cli looks for agents.`,
  );
}

function saysFallback(line: string): boolean {
  const text = line.toLowerCase();
  return FALLBACKS.some(([begin, end]) => {
    const at = text.indexOf(begin);
    return at >= 0 && text.includes(end, at + begin.length);
  });
}

function stopped({ exit, stderr, stdout }: Finished, context: FailureContext): BudgieError | undefined {
  const { agent, binary } = context;
  if (exit.reason === "timeout" && waitsForLogin(stdout.text + stderr.text)) return loginRequired(agent);
  if (exit.reason !== "command-not-found") return findExitFailure(exit, { ...context, program: binary });
  return commandNotFound(binary);
}

function commandNotFound(binary: string): BudgieError {
  return new BudgieError(
    "COMMAND_NOT_FOUND",
    `There is no program "${binary}" that the agent's user can run. Install kiro-cli, or name it with ${formatOption("binary")}. ` +
      `A sandbox has the image's: "budgie build-image" builds one, and "budgie doctor" looks into yours.`,
  );
}

// Kiro prints this instead of an answer if there is no login, and then waits forever.
const LOGIN_WAIT = /(?:open|visit) (?:this|the following) (?:URL|link)|device code|confirm the following code/i;

/** Returns true if Kiro has asked for a login. Once an agent has answered there is a login, and the text may just be about logins. */
export function waitsForLogin(output: string): boolean {
  return !hasMessage(output) && LOGIN_WAIT.test(withoutTerminalCodes(output));
}

// The wording of Kiro's first engine when the service gives up in mid-turn; Kiro then exits with code 0 or 1.
const GAVE_UP = /rate limit reached|trouble responding right now|relaunch with '--model/i;

function isAnswer({ exit, stderr, stdout }: Finished, { answered }: FailureContext): boolean {
  // Kiro's telemetry may fail after a finished turn, which must not be repeated because of that.
  if (exit.exitCode === 1 && answered && saysFinished(stderr.text)) return true;
  if (exit.exitCode !== 0) return false;
  if (answered) return true;
  const saidSomething = extractAnswer(stdout.text) !== "" || saysFinished(stderr.text);
  return saidSomething && !GAVE_UP.test(withoutTerminalCodes(stderr.text));
}

type Symptom = {
  readonly says: RegExp;
  readonly code: ErrorCode;
  readonly toMessage: (agent: string, line: string) => string;
};

// The order matters: a turn that the service gave up also reports that a tool needs approval.
const SYMPTOMS: readonly Symptom[] = [
  {
    says: /You are not logged in|Authentication failed\. Your API key/i,
    code: "LOGIN_REQUIRED",
    toMessage: (agent) => loginRequired(agent).message,
  },
  {
    says: GAVE_UP,
    code: "AGENT_FAILED",
    toMessage: (agent, line) => gaveUp(agent, line).message,
  },
  {
    says: /Model '[^'\n]*' does not exist/i,
    code: "AGENT_FAILED",
    toMessage: (agent, line) =>
      `Kiro refused the model of the agent "${agent}" (${line}). Set another in its prompt file, or with ${formatOption("model")}.`,
  },
  {
    says: /not supported with (?:the )?.?--agent-engine/i,
    code: "AGENT_FAILED",
    toMessage: (agent, line) =>
      `This version of Kiro does not run the agent "${agent}" in the way that budgie asks for (${line}). ` +
      `Use another version, or another harness with ${formatOption("kiroHarness")}.`,
  },
  {
    says: /Tool approval required but --no-interactive was specified/i,
    code: "AGENT_FAILED",
    toMessage: (agent) =>
      `The agent "${agent}" wanted to use a tool that needs approval, and Kiro ended the turn. ` +
      `Add the tool to its "allowedTools", or allow all with ${formatOption("trustAllTools")}.`,
  },
];

function recognised(stderr: string, agent: string): BudgieError | undefined {
  const text = withoutTerminalCodes(stderr);
  for (const { says, code, toMessage } of SYMPTOMS) {
    const at = text.search(says);
    if (at >= 0) return new BudgieError(code, toMessage(agent, findLineAt(text, at)));
  }
  return undefined;
}

// clap's code for bad arguments, and Kiro's for a failed MCP server: trying again changes nothing.
const FINAL_EXIT_CODES = new Set([2, 3]);

function ended({ exit, stderr, stdout }: Finished, { agent }: FailureContext): BudgieError {
  const evidence = lastLines(stderr.text) || lastLines(stdout.text) || "it said nothing";
  if (exit.signal !== undefined) {
    return new BudgieError("AGENT_CRASHED", `The agent "${agent}" was killed by ${exit.signal}: ${evidence}`);
  }
  if (exit.exitCode !== 0) {
    const code = FINAL_EXIT_CODES.has(exit.exitCode ?? 0) ? "AGENT_FAILED" : "AGENT_CRASHED";
    return new BudgieError(code, `The agent "${agent}" ended with exit code ${exit.exitCode}: ${evidence}`);
  }
  return new BudgieError("AGENT_FAILED", `The agent "${agent}" ended without an answer: ${evidence}`);
}

function loginRequired(agent: string): BudgieError {
  return new BudgieError(
    "LOGIN_REQUIRED",
    `Kiro has no valid login for the agent "${agent}". Run "kiro-cli login" on this machine, or set KIRO_API_KEY; ` +
      `a sandbox gets what ${formatOption("credentials")} says.`,
  );
}

/** The facts about a failed turn over ACP. */
export type AcpFailureContext = Pick<FailureContext, "agent" | "binary"> & {
  /** `undefined` if the turn did not fail because the process ended */
  readonly exitCode: number | undefined;
  readonly stderr: string;
};

// The errors that Kiro's own output can explain. All others are budgie's, or the runner's.
const EXPLAINED: ReadonlySet<ErrorCode> = new Set(["AGENT_CRASHED", "AGENT_FAILED", "LOGIN_REQUIRED"]);
// Kiro reports these with the protocol's code for a missing login too.
const LIMITED = /\blimit(?:s|ed)?\b|throttl|too many requests|quota/i;

/** Translates a failure of the protocol into Kiro's own; returns it unchanged if Kiro did not explain it. */
export function toKiroAcpFailure(error: BudgieError, context: AcpFailureContext): BudgieError {
  const { agent, binary, exitCode, stderr } = context;
  if (error.code === "COMMAND_NOT_FOUND") return commandNotFound(binary);
  if (error.code === "TIMED_OUT" && waitsForLogin(stderr)) return loginRequired(agent);
  if (!EXPLAINED.has(error.code)) return error;
  if (exitCode === UNKNOWN_AGENT_EXIT_CODE) return agentNotFound(agent, stderr);
  return recognised(`${error.message}\n${stderr}`, agent) ?? byCode(error, context);
}

function byCode(error: BudgieError, { agent, exitCode = 0 }: AcpFailureContext): BudgieError {
  if (error.code !== "LOGIN_REQUIRED") {
    return FINAL_EXIT_CODES.has(exitCode) ? new BudgieError("AGENT_FAILED", error.message) : error;
  }
  return LIMITED.test(error.message) ? gaveUp(agent, quotedPart(error)) : loginRequired(agent);
}

/** Returns the agent's own words, which the protocol's messages have in parentheses. */
function quotedPart({ message }: BudgieError): string {
  return message.slice(message.indexOf("(") + 1, message.lastIndexOf(")"));
}

function gaveUp(agent: string, line: string): BudgieError {
  return new BudgieError(
    "AGENT_FAILED",
    `Kiro's service gave up the turn of "${agent}" (${line}). Try again later, or with another model.`,
  );
}
