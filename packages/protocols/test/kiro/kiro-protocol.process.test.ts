import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createKiroPlace } from "./kiro-place.ts";

describe("the Kiro protocol with a real process", () => {
  it("reads the answer from the file, not from the printed text", async () => {
    const { calls, runTurn, sessionHomes, workspace } = createKiroPlace();

    const { response } = await runTurn({ agent: "tester", prompt: "[[say: From the file.]]", directory: workspace });

    const [file] = readdirSync(sessionHomes()[0] ?? "").filter((name) => name.startsWith("response-"));
    expect(response).toBe("From the file.");
    expect(readFileSync(join(sessionHomes()[0] ?? "", file ?? ""), "utf8")).toBe("From the file.");
    expect(calls()).toHaveLength(1);
  });

  it("does not wait for a login that nobody can make", async () => {
    const { calls, runTurn, workspace } = createKiroPlace({ env: { KIRO_API_KEY: "" }, timeoutMs: 600_000 });

    const turn = runTurn({ agent: "tester", prompt: "x", directory: workspace });

    await expect(turn).rejects.toMatchObject({ code: "LOGIN_REQUIRED" });
    expect(calls()).toHaveLength(1);
  });

  it("names a new answer file in every turn", async () => {
    const { calls, runTurn, workspace } = createKiroPlace();
    const { sessionId } = await runTurn({ agent: "tester", prompt: "x", directory: workspace });
    await runTurn({ agent: "tester", prompt: "x", directory: workspace, sessionId });

    const files = calls().map(({ stdin }) => /response-[0-9a-f-]{36}\.txt/.exec(stdin)?.[0]);
    expect(new Set(files).size).toBe(2);
  });

  it("asks once more, in the same conversation, when the file is missing", async () => {
    const { calls, runTurn, workspace } = createKiroPlace();
    const prompt = "[[ignore-response-file]] [[say: Late.]]";

    const reply = await runTurn({ agent: "tester", prompt, directory: workspace });

    expect(reply).toMatchObject({ response: "Late.", warnings: [], retried: false });
    expect(calls().map(({ argv }) => argv.includes("--resume"))).toEqual([false, true]);
    expect(calls()[1]?.stdin).toMatch(/^Write your previous response to the file: .*\/response-.*\.txt\n/);
  });

  it("asks exactly once more, and then uses the first printed text", async () => {
    const { calls, runTurn, workspace } = createKiroPlace();
    const prompt = "[[never-write]] [[say: Printed\n> only.]]";

    const reply = await runTurn({ agent: "tester", prompt, directory: workspace });

    expect(reply.response).toBe("Printed\n> only.");
    expect(reply.warnings).toEqual(["The agent wrote no answer file, so this answer was read from its output."]);
    expect(calls()).toHaveLength(2);
  });

  it.each([
    ["second engine", "v2"],
    ["first engine", "q1"],
  ])("does not ask a read-only agent for a file, and reports the answer's source (%s)", async (_what, profile) => {
    const { calls, runTurn, workspace } = createKiroPlace({ env: { FAKE_KIRO_PROFILE: profile } });

    const reply = await runTurn({ agent: "reader", prompt: "[[say: Read.]]", directory: workspace });

    expect(reply.response).toBe("Read.");
    expect(reply.warnings).toEqual(["The agent may not write files, so this answer was read from its output."]);
    expect(calls().map(({ stdin }) => stdin.includes("response-"))).toEqual([false]);
  });

  it("asks any agent for a file when all tools are trusted", async () => {
    const { calls, runTurn, workspace } = createKiroPlace({ kiro: { trustAllTools: true } });
    const prompt = "[[ignore-response-file]] [[say: Trusted.]]";

    const reply = await runTurn({ agent: "reader", prompt, directory: workspace });

    expect(reply).toMatchObject({ response: "Trusted.", warnings: [] });
    expect(calls().map(({ argv }) => argv.includes("--trust-all-tools"))).toEqual([true, true]);
  });

  it.each([
    ["second engine", "v2"],
    ["first engine", "q1"],
  ])("removes codes and markers from a printed answer (%s)", async (_what, profile) => {
    const { runTurn, workspace } = createKiroPlace({ env: { FAKE_KIRO_PROFILE: profile } });
    const prompt = "[[never-write]] [[say: > quoted\n**bold**]]";

    expect((await runTurn({ agent: "tester", prompt, directory: workspace })).response).toBe("> quoted\n**bold**");
  });

  it("names the tools that Kiro denied", async () => {
    const { runTurn, workspace } = createKiroPlace();
    const prompt = "[[run: touch denied]] [[say: I tried.]]";

    const reply = await runTurn({ agent: "tester", prompt, directory: workspace });

    expect(reply).toMatchObject({ denied: ["shell"], exit: { exitCode: 0 } });
    expect(existsSync(join(workspace, "denied"))).toBe(false);
  });

  it("fails a turn whose tool needs approval on the first engine, and says what to do", async () => {
    const { runTurn, workspace } = createKiroPlace({ env: { FAKE_KIRO_PROFILE: "q1" } });
    const turn = runTurn({ agent: "tester", prompt: "[[run: touch denied]]", directory: workspace });

    await expect(turn).rejects.toMatchObject({
      code: "AGENT_FAILED",
      message: expect.stringMatching(/"allowedTools".*"trustAllTools"/),
    });
  });

  it.each(["!touch pwned", "/quit", "@prompt", "--help", "-h", '"; touch pwned; "', "$(touch pwned)"])(
    "passes %j to the model as literal text",
    async (prompt) => {
      const { calls, home, runTurn, sessionHomes, workspace } = createKiroPlace();

      const { response } = await runTurn({ agent: "tester", prompt, directory: workspace });

      expect(response).toBe(`You asked: ${prompt}`);
      expect(calls()[0]?.argv.join(" ")).toBe("chat --agent tester --no-interactive");
      expect(existsSync(join(home, ".fake-kiro-shell-escape"))).toBe(false);
      expect(readdirSync(workspace)).toEqual([]);
      expect(readdirSync(sessionHomes()[0] ?? "")).not.toContain("pwned");
    },
  );

  it("passes on a prompt of 300 KB with unicode, complete", async () => {
    const { calls, runTurn, workspace } = createKiroPlace();
    const prompt = `${"€ù日\n".repeat(30_000)}end`;

    await runTurn({ agent: "tester", prompt, directory: workspace });

    expect(calls()[0]?.stdin).toContain(`In directory ${workspace}, ${prompt}\n\n`);
  });

  it("runs in the session's home and names the workspace to the agent", async () => {
    const { calls, runTurn, sessionHomes, workspace } = createKiroPlace();

    await runTurn({ agent: "tester", prompt: "[[write made.txt: here]]", directory: workspace });

    expect(calls()[0]?.cwd).toBe(sessionHomes()[0]);
    expect(readFileSync(join(workspace, "made.txt"), "utf8")).toBe("here");
  });

  it("reads the user's prompt files again for every turn", async () => {
    const { calls, promptsDir, runTurn, workspace } = createKiroPlace();
    const prompt = "[[ignore-response-file]] [[say: x]]";
    for (const version of ["one", "two"]) {
      writeFileSync(join(promptsDir, "_system.md"), `System ${version}`);
      writeFileSync(join(promptsDir, "_context-summary.md"), `!Summary ${version}`);
      await runTurn({ agent: "tester", prompt, directory: workspace });
    }

    const prompts = calls().map(({ stdin }) => stdin.slice(stdin.lastIndexOf("\n") + 1));
    const summary = (version: string) => `In directory ${workspace}: !Summary ${version}`;
    expect(prompts).toEqual(["System one", summary("one"), "System two", summary("two")]);
  });

  it("appends the output of every run to a log in the session's home, on request", async () => {
    const { runTurn, sessionHomes, workspace } = createKiroPlace({ kiro: { verbose: true } });
    const prompt = "[[ignore-response-file]] [[say: Logged.]]";

    const { sessionId } = await runTurn({ agent: "tester", prompt, directory: workspace });
    await runTurn({ agent: "tester", prompt: "Again.", directory: workspace, sessionId });

    const log = readFileSync(join(sessionHomes()[0] ?? "", `chat-${sessionId}.txt`), "utf8");
    expect(log.match(/^=== \d{4}-.*kiro-cli chat --agent tester --no-interactive/gm)).toHaveLength(3);
    expect(log).toContain(`--- prompt\nIn directory ${workspace}, ${prompt}\n`);
    expect(log).toMatch(/--- stdout\n.*Logged\./);
    expect(log).toMatch(/--- stderr\n[^]*Credits: /);
    expect(log).toContain('--- exit {"exitCode":0,');
  });

  it("logs nothing otherwise", async () => {
    const { runTurn, sessionHomes, workspace } = createKiroPlace();

    await runTurn({ agent: "tester", prompt: "x", directory: workspace });

    expect(readdirSync(sessionHomes()[0] ?? "").filter((name) => name.startsWith("chat-"))).toEqual([]);
  });
});
