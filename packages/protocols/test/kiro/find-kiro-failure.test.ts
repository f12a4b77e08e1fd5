import { describe, expect, it } from "vitest";
import type { ErrorCode, Exit } from "@budgie/core";
import type { BoundedOutput } from "@budgie/core/protocol";
import { findKiroFailure } from "../../src/kiro/find-kiro-failure.ts";

const MARKER = "\u001B[38;5;141m> \u001B[0m";
const CREDITS = "\n ▸ Credits: 0.07 • Time: 4s\n";
const ANSWER = `${MARKER}Hello\n`;
const FALLBACK = 'warning: agent "tester" not found, using "kiro_default"\n';
const LOGIN =
  "Confirm the following code in the browser\nCode: ABCD\n\nOpen this URL: https://device.test/?code=ABCD\n";

type Run = Partial<Exit> & {
  readonly stdout?: string;
  readonly stderr?: string;
  readonly answered?: boolean;
};

describe("findKiroFailure", () => {
  it.each<[string, Run]>([
    ["an answer file", { answered: true }],
    ["a printed answer", { stdout: ANSWER }],
    ["nothing but the credits line of a finished turn", { stderr: CREDITS }],
    ["an answer in spite of a bad agent file of another agent", { stdout: ANSWER, stderr: malformed("other") }],
    ["an answer in spite of a tool that could not log in", { answered: true, stderr: "fatal: Authentication failed" }],
    ["an answer about logins", { stdout: `${MARKER}You are not logged in to the device code page.` }],
    ["an answer in spite of a model that was replaced", { stdout: ANSWER, stderr: "Model 'x' does not exist" }],
    ["an answer file in spite of trouble after it", { answered: true, stderr: "⚠️ rate limit reached:" }],
    ["a finished answer with telemetry that failed", { exitCode: 1, answered: true, stderr: CREDITS }],
    ["a denied tool", { stdout: ANSWER, stderr: "[denied] tool permission approval is not supported" }],
    ["a failed MCP server", { stdout: ANSWER, stderr: "One or more mcp server did not load correctly" }],
    ["a killed tool", { stdout: ANSWER, oomKilled: true }],
  ])("accepts %s", (_what, run) => {
    expect(failureOf(run)).toBeUndefined();
  });

  // The rows of the table of Kiro's exit codes, as seen in a headless text run.
  it.each<[string, Run, ErrorCode, RegExp]>([
    ["silence with exit code 0", {}, "AGENT_FAILED", /ended without an answer: it said nothing$/],
    ["a marker and nothing else", { stdout: `${MARKER}\n` }, "AGENT_FAILED", /ended without an answer/],
    ["bad flags", { exitCode: 2, stderr: "error: unexpected argument" }, "AGENT_FAILED", /exit code 2: error: unexp/],
    [
      "no login, first engine",
      { exitCode: 1, stderr: notLoggedIn() },
      "LOGIN_REQUIRED",
      /"kiro-cli login".* KIRO_API_KEY/,
    ],
    ["an invalid API key", { stderr: invalidKey() }, "LOGIN_REQUIRED", /no valid login/],
    ["no login, waiting for one", { reason: "timeout", stdout: LOGIN }, "LOGIN_REQUIRED", /no valid login/],
    ["no login, waiting on stderr", { reason: "timeout", stderr: LOGIN }, "LOGIN_REQUIRED", /no valid login/],
    [
      "an unknown agent, first engine",
      { stdout: ANSWER, stderr: "Error: no agent with name tester found. Falling back to user specified default" },
      "AGENT_NOT_FOUND",
      /did not find the agent "tester" \(.*no agent with name tester found.*\)\. Check /,
    ],
    ["an unknown agent", { stdout: ANSWER, stderr: FALLBACK + CREDITS }, "AGENT_NOT_FOUND", /did not find/],
    ["an unknown agent that wrote a file", { answered: true, stderr: FALLBACK }, "AGENT_NOT_FOUND", /did not find/],
    ["an unknown agent in colours", { stdout: ANSWER, stderr: coloured(FALLBACK) }, "AGENT_NOT_FOUND", /did not find/],
    ["an unknown agent that took too long", { reason: "timeout", stderr: FALLBACK }, "AGENT_NOT_FOUND", /did not find/],
    ["an unknown agent that crashed", { exitCode: 101, stderr: FALLBACK }, "AGENT_NOT_FOUND", /did not find/],
    [
      "an unknown agent, newest versions",
      { exitCode: 4, stderr: 'error: agent "tester" not found' },
      "AGENT_NOT_FOUND",
      /\(error: agent "tester" not found\)/,
    ],
    [
      "a malformed agent file",
      { stdout: ANSWER, stderr: malformed("tester") + FALLBACK },
      "AGENT_NOT_FOUND",
      /Check that its file is valid/,
    ],
    [
      "an unknown model",
      { exitCode: 1, stderr: "error: Model 'x' does not exist. Available models: a, b\n" },
      "AGENT_FAILED",
      /\(error: Model 'x' does not exist\. Available models: a, b\)\. Set another .* the option "model"\.$/,
    ],
    [
      "a throttled turn",
      { stderr: "⚠️ Amazon Q rate limit reached:\nToo many requests." },
      "AGENT_FAILED",
      /gave up the turn of "tester" \(⚠️ Amazon Q rate limit reached:\)\. Try again later/,
    ],
    [
      "a throttled turn that has used a tool",
      { exitCode: 1, stderr: `⚠️ rate limit reached:\n${needsApproval()}` },
      "AGENT_FAILED",
      /gave up the turn/,
    ],
    [
      "a turn that was throttled in the middle of its answer",
      { stdout: ANSWER, stderr: "⚠️ rate limit reached:" },
      "AGENT_FAILED",
      /gave up the turn/,
    ],
    ["no network", { stderr: "Kiro is having trouble responding right now: io error" }, "AGENT_FAILED", /trouble/],
    ["an overloaded model", { stderr: "Please relaunch with '--model <model_id>'" }, "AGENT_FAILED", /gave up/],
    [
      "an untrusted tool, first engine",
      { exitCode: 1, stderr: needsApproval() },
      "AGENT_FAILED",
      /"allowedTools".* the option "trustAllTools"/,
    ],
    ["MCP servers that must start", { exitCode: 3, stderr: "mcp" }, "AGENT_FAILED", /exit code 3: mcp/],
    ["an interrupt", { exitCode: 1 }, "AGENT_CRASHED", /exit code 1: it said nothing/],
    ["a panic", { exitCode: 101, stderr: "thread 'main' panicked" }, "AGENT_CRASHED", /exit code 101: thread 'main'/],
    ["SIGKILL", { signal: "SIGKILL", stdout: ANSWER }, "AGENT_CRASHED", /killed by SIGKILL: > Hello$/],
    ["a crash after the answer file", { signal: "SIGSEGV", answered: true }, "AGENT_CRASHED", /killed by SIGSEGV/],
    [
      "a missing program",
      { exitCode: 127, reason: "command-not-found" },
      "COMMAND_NOT_FOUND",
      /"kiro-cli" .* the option "binary"/,
    ],
    [
      "a timeout",
      { reason: "timeout", signal: "SIGKILL" },
      "TIMED_OUT",
      /within 10m and was stopped.* the option "timeoutMs"/,
    ],
    ["a timeout while it talks of logins", { reason: "timeout", stdout: ANSWER + LOGIN }, "TIMED_OUT", /within 10m/],
    ["a timeout after the answer file", { reason: "timeout", answered: true }, "TIMED_OUT", /within 10m/],
    ["a cancelled turn", { reason: "cancelled", signal: "SIGTERM" }, "CANCELLED", /was cancelled/],
    [
      "an unknown agent that was cancelled",
      { reason: "cancelled", stderr: FALLBACK },
      "AGENT_NOT_FOUND",
      /did not find/,
    ],
    ["a shutdown", { reason: "shutdown", signal: "SIGTERM" }, "CANCELLED", /budgie is ending/],
    [
      "too little memory",
      { reason: "out-of-memory", signal: "SIGKILL" },
      "OUT_OF_MEMORY",
      /more memory than its sandbox/,
    ],
    ["a full home", { reason: "disk-limit", signal: "SIGKILL" }, "DISK_LIMIT", /its home is removed/],
  ])("recognises %s", (...[, run, code, message]) => {
    const failure = failureOf(run);

    expect(failure).toMatchObject({ code, message: expect.stringMatching(message) });
    expect(failure?.message).toContain(code === "COMMAND_NOT_FOUND" ? "kiro-cli" : '"tester"');
    expect(failure?.message).not.toContain("\n");
  });

  it("quotes stdout when stderr says nothing", () => {
    expect(failureOf({ exitCode: 1, stdout: "went wrong\n", stderr: CREDITS })?.message).toMatch(/: went wrong$/);
  });
});

function failureOf({ stdout = "", stderr = "", answered = false, ...exit }: Run) {
  const killed = exit.signal !== undefined;
  return findKiroFailure(
    {
      stdout: toOutput(stdout),
      stderr: toOutput(stderr),
      answer: undefined,
      exit: { exitCode: killed ? undefined : 0, signal: undefined, reason: undefined, oomKilled: false, ...exit },
    },
    { agent: "tester", binary: "kiro-cli", timeoutMs: 600_000, answered },
  );
}

function malformed(name: string): string {
  return `Error: Json supplied at /home/me/.kiro/agents/${name}.json is invalid: expected value at line 1\n`;
}

function notLoggedIn(): string {
  return "error: You are not logged in, please log in with kiro-cli login\n";
}

function invalidKey(): string {
  return "Authentication failed. Your API key may be invalid or expired.\n";
}

function needsApproval(): string {
  return "error: Tool approval required but --no-interactive was specified. Use --trust-all-tools to approve.\n";
}

function coloured(text: string): string {
  return `\u001B[33m${text.replace("tester", "\u001B[1mtester\u001B[22m")}\u001B[0m`;
}

function toOutput(text: string): BoundedOutput {
  return { text, bytes: Buffer.byteLength(text), truncated: false, file: undefined };
}
