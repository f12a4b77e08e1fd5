import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createBudgieUser, toText, type Served, type BudgieUser } from "../../../../cli/test/helpers/start-budgie.ts";

const agentFile = (name: string, fields: object) =>
  JSON.stringify({ name, description: "sub-agent: Test", allowedTools: ["fs_read", "fs_write"], ...fields });

describe("an impossible call", () => {
  let user: BudgieUser;
  let budgie: Served;
  beforeAll(async () => {
    user = await createBudgieUser();
    budgie = await user.serve();
  });
  afterAll(() => user[Symbol.asyncDispose]());

  it.each([
    ["an empty prompt", { prompt: " \n" }, /^INPUT_INVALID: The prompt for "code-reviewer" is empty\. Say what/],
    ["no prompt", {}, /^INPUT_INVALID: The argument "prompt" is missing\. What the agent should do\./],
    ["no directory", { prompt: "p", directory: undefined }, /^INPUT_INVALID: The argument "directory" is missing\./],
    [
      "a relative directory",
      { prompt: "p", directory: "src" },
      /^WORKSPACE_INVALID: The directory "src" is not an absolute path\./,
    ],
    [
      "a missing directory",
      { prompt: "p", directory: "/nowhere" },
      /^WORKSPACE_INVALID: The directory "\/nowhere" cannot be used \(ENOENT\)/,
    ],
    [
      "a file in place of a directory",
      { prompt: "p", directory: "/etc/passwd" },
      /^WORKSPACE_INVALID: The directory "\/etc\/passwd" is not a directory\./,
    ],
    [
      "a malformed session id",
      { prompt: "p", sessionId: "mine" },
      /^INPUT_INVALID: The session id "mine" is not one that budgie gave out\./,
    ],
    [
      "a session id that is a path",
      { prompt: "p", sessionId: "../../x" },
      /^INPUT_INVALID: The session id "\.\.\/\.\.\/x" is not one/,
    ],
    [
      "an unknown session id",
      { prompt: "p", sessionId: randomUUID() },
      /^SESSION_NOT_FOUND: There is no session "[0-9a-f-]{36}" here/,
    ],
    [
      "an unknown argument",
      { prompt: "p", session_id: "x" },
      /^INPUT_INVALID: The tool has no argument "session_id"\. Its arguments are: prompt, directory, sessionId, workspace, refresh, egress, timeout, budget\.$/,
    ],
  ])("with %s fails with one clear line", async (_what, input, expected) => {
    const answer = await budgie.ask("code-reviewer", input);

    expect(answer.isError).toBe(true);
    expect(toText(answer)).toMatch(expected);
    expect(toText(answer)).not.toContain("\n");
    expect(answer.structuredContent).toMatchObject({ code: toText(answer).split(":")[0] });
    expect(user.kiroCalls()).toEqual([]);
  });

  it("with another agent's session names that agent", async () => {
    const { ask } = budgie;
    const first = await ask("code-reviewer", { prompt: "Hello" });

    const answer = await ask("shell-worker", { prompt: "p", sessionId: first.structuredContent?.["sessionId"] });

    expect(toText(answer)).toMatch(/^INPUT_INVALID: The session "\S+" is one with the agent "code-reviewer", not/);
  });

  it("without the program names it", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve({ args: ["--kiro-binary", "/nowhere/kiro-cli"] });

    const answer = await ask("code-reviewer", { prompt: "p" });

    expect(toText(answer)).toMatch(
      /^COMMAND_NOT_FOUND: There is no program "\/nowhere\/kiro-cli" that the agent's user can run\./,
    );
  });
});

describe("a turn that fails", () => {
  it("without a login says how to log in", async () => {
    await using user = await createBudgieUser({ login: false });
    const { ask } = await user.serve({ args: ["--agent-timeout", "2s"] });

    const answer = await ask("code-reviewer", { prompt: "p" });

    expect(toText(answer)).toMatch(
      /^LOGIN_REQUIRED: Kiro has no valid login for the agent "code-reviewer"\. Run "kiro-cli login"/,
    );
    expect(user.kiroCalls()).toHaveLength(1);
  });

  it("by a timeout was tried twice, and leaves a session that can be resumed", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve({ args: ["-agent-timeout=3s"] });

    const answer = await ask("code-reviewer", { prompt: "[[sleep 60000]]" });

    const sessionId = String(answer.structuredContent?.["sessionId"]);
    const [message, summary] = toText(answer).split("\n\n");
    expect(summary).toMatch(/^\[budgie\] code-reviewer: stopped after [\d.]+ s$/);
    expect(message).toBe(
      'TIMED_OUT: The agent "code-reviewer" did not finish within 3s and was stopped. ' +
        "Give it a smaller task, or more time with --agent-timeout. " +
        `To resume this conversation, pass sessionId "${sessionId}".`,
    );
    expect(user.kiroCalls()).toHaveLength(2);
    expect(toText(await ask("code-reviewer", { prompt: "[[say: Here.]]", sessionId }))).toBe("Here.");
  });

  it("after it changed a file is not retried, and reports the change", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve();

    const answer = await ask("code-reviewer", { prompt: "[[write new.ts: x]][[fault kill-self]]" });

    const { sessionId } = answer.structuredContent ?? {};
    expect(toText(answer)).toMatch(/^INDETERMINATE: .*"new\.ts"\. The agent "code-reviewer" was killed by SIGKILL/);
    expect(toText(answer)).toContain(`To resume this conversation, pass sessionId "${String(sessionId)}".`);
    expect(answer.structuredContent).toMatchObject({ code: "INDETERMINATE", changedPaths: ["new.ts"] });
    expect(user.kiroCalls()).toHaveLength(1);
  });

  it.each([
    ["always", 2],
    ["never", 1],
  ])("is retried as --retry %s says", async (mode, tries) => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve({ args: ["--retry", mode] });

    const answer = await ask("code-reviewer", { prompt: "[[write new.ts: x]][[fault kill-self]]" });

    expect(toText(answer)).toMatch(/^AGENT_CRASHED: /);
    expect(answer.structuredContent).not.toHaveProperty("changedPaths");
    expect(user.kiroCalls()).toHaveLength(tries);
  });

  it("by a signal names the signal", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve();

    const answer = await ask("code-reviewer", { prompt: "[[fault kill-self]]" });

    expect(toText(answer)).toMatch(/^AGENT_CRASHED: The agent "code-reviewer" was killed by SIGKILL: /);
    expect(toText(answer).replace(/\n\n\[budgie\] [^\n]*$/, "")).not.toContain("\n");
  });

  it("because Kiro does not accept the agent's file does not return another agent's answer", async () => {
    await using user = await createBudgieUser();
    writeFileSync(join(user.host.agentsDir, "odd.json"), agentFile("odd", { noSuchKey: true }));
    const { ask } = await user.serve();

    const answer = await ask("odd", { prompt: "Hello" });

    expect(toText(answer)).toMatch(/^AGENT_NOT_FOUND: Kiro did not find the agent "odd" \(/);
    expect(answer.structuredContent).not.toHaveProperty("sessionId");
  });

  it("for an unknown reason reports it to the client, and its stack to stderr", async () => {
    await using user = await createBudgieUser();
    const state = join(user.host.home, "state");
    mkdirSync(state);
    writeFileSync(join(state, "local-sessions"), "not a folder");
    const { ask, stderr } = await user.serve({ args: ["--state-dir", state] });

    const answer = ask("code-reviewer", { prompt: "Hello" });

    await expect(answer).rejects.toMatchObject({ message: expect.stringContaining("EEXIST") });
    expect(stderr()).toMatch(/budgie: Error: EEXIST[^]*\n {4}at /);
  });
});
