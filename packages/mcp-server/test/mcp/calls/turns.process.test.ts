import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createBudgieUser, toText, type Served, type BudgieUser } from "../../../../cli/test/helpers/start-budgie.ts";

describe("a prompt", () => {
  let user: BudgieUser;
  let budgie: Served;
  beforeAll(async () => {
    user = await createBudgieUser();
    budgie = await user.serve();
  });
  afterAll(() => user[Symbol.asyncDispose]());

  it.each(["!touch marker", "/quit", "@prompt", "--resume", "- a list", "\n!touch marker", "$(touch marker)"])(
    "that is %j reaches the agent as text",
    async (prompt) => {
      const answer = await budgie.ask("code-reviewer", { prompt });

      const call = user.kiroCalls().at(-1);
      expect(toText(answer)).toBe(`You asked: ${prompt.trim()}`);
      expect(call?.stdin.startsWith(`In directory ${user.workspace}, ${prompt}\n`)).toBe(true);
      expect(call?.argv).toEqual([
        "chat",
        "--agent",
        "code-reviewer",
        "--no-interactive",
        "--model",
        "claude-sonnet-4.5",
      ]);
      expect([user.workspace, call?.cwd ?? ""].some((place) => existsSync(join(place, "marker")))).toBe(false);
    },
  );

  it("may be far longer than an argument can be", async () => {
    const prompt = `${"long ".repeat(60_000)}[[say: It was long.]]`;

    const answer = await budgie.ask("code-reviewer", { prompt });

    expect(toText(answer)).toBe("It was long.");
    expect(user.kiroCalls().at(-1)?.stdin).toContain(prompt);
  });

  it("is refused if it is longer than the limit", async () => {
    const answer = await budgie.ask("code-reviewer", { prompt: "x".repeat(400_001) });

    expect(toText(answer)).toMatch(/^INPUT_INVALID: The prompt for "code-reviewer" has 400,001 bytes/);
  });

  it("is followed by the user's own system prompt, with the paths filled in", async () => {
    writeFileSync(
      join(user.host.promptsDir, "_system.md"),
      "Write your response to: {{RESPONSE_FILE}}\nStay in {{WORKING_DIRECTORY}}.",
    );

    await budgie.ask("code-reviewer", { prompt: "Hello" });

    const call = user.kiroCalls().at(-1);
    expect(call?.stdin).toMatch(/\n\nWrite your response to: \S+\/response-[0-9a-f-]{36}\.txt\nStay in \S+\.$/);
    expect(call?.stdin).toContain(`Stay in ${user.workspace}.`);
  });
});

describe("a session", () => {
  it("resumes from its second turn on", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve();

    const first = await ask("code-reviewer", { prompt: "Hello", sessionId: "" });
    await ask("code-reviewer", { prompt: "Hello", sessionId: first.structuredContent?.["sessionId"] });

    expect(user.kiroCalls().map(({ argv }) => argv.includes("--resume"))).toEqual([false, true]);
  });

  it("runs in a folder of its own", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve();

    const { structuredContent } = await ask("code-reviewer", { prompt: "Hello" });

    expect(user.kiroCalls()[0]?.cwd).toBe(join(user.sessionsDir, String(structuredContent?.["sessionId"])));
  });

  it("keeps the complete log of its chats in verbose mode", async () => {
    await using user = await createBudgieUser();
    const { ask, stderr } = await user.serve({ args: ["-verbose"] });

    const { structuredContent } = await ask("code-reviewer", { prompt: "Hello" });
    const sessionId = String(structuredContent?.["sessionId"]);

    const log = readFileSync(join(user.sessionsDir, sessionId, `chat-${sessionId}.txt`), "utf8");
    expect(log).toContain("--- prompt\nIn directory ");
    expect(stderr()).toContain("budgie: code-reviewer: called\n");
    expect(stderr()).toMatch(new RegExp(`budgie: code-reviewer: answered in session ${sessionId} after [\\d.]+m?s\n`));
  });

  it("keeps no log otherwise", async () => {
    await using user = await createBudgieUser();
    const { ask, stderr } = await user.serve();

    const { structuredContent } = await ask("code-reviewer", { prompt: "Hello" });

    const files = readdirSync(join(user.sessionsDir, String(structuredContent?.["sessionId"])));
    expect(files.filter((name) => name.startsWith("chat-"))).toEqual([]);
    expect(stderr()).not.toContain("called");
  });
});

describe("an agent", () => {
  it("runs on the model that its prompt file names, or else the default", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve({ args: ["--model", "claude-opus-4"] });

    await ask("code-reviewer", { prompt: "[[status]]" });
    await ask("shell-worker", { prompt: "[[status]]" });

    expect(user.kiroCalls().map(({ argv }) => argv[argv.indexOf("--model") + 1])).toEqual([
      "claude-sonnet-4.5",
      "claude-opus-4",
    ]);
  });

  it("gets no model with --model auto", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve({ args: ["--model", "auto"] });

    await ask("shell-worker", { prompt: "Hello" });

    expect(user.kiroCalls()[0]?.argv).not.toContain("--model");
  });

  it("that may not use a tool is not trusted with it, and the answer says so", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve();

    const { structuredContent } = await ask("reader", { prompt: "[[write note.txt: Hello]]" });

    expect(structuredContent).toMatchObject({
      denied: [expect.any(String)],
      warnings: ["The agent may not write files, so this answer was read from its output."],
    });
    expect(existsSync(join(user.workspace, "note.txt"))).toBe(false);
    expect(user.kiroCalls().flatMap(({ argv }) => argv)).not.toContain("--trust-all-tools");
  });

  it("may use every tool with --trust-all-tools", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve({ args: ["--trust-all-tools"] });

    const { structuredContent } = await ask("reader", { prompt: "[[write note.txt: Hello]]" });

    expect(structuredContent).not.toHaveProperty("denied");
    expect(structuredContent).not.toHaveProperty("warnings");
    expect(readFileSync(join(user.workspace, "note.txt"), "utf8")).toBe("Hello");
  });

  it("is retried after 2 s when it crashed, and the answer says so", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve();
    // The stand-in has recorded the crash in its home.
    const { structuredContent } = await ask("code-reviewer", { prompt: "[[fault-once kill-self]][[say: Back.]]" });

    expect(structuredContent).toMatchObject({ response: "Back.", retried: true });
    expect(structuredContent?.["durationMs"]).toBeGreaterThan(2000);
    expect(user.kiroCalls()).toHaveLength(2);
  });

  it("gets Kiro's and the named variables, and no others of the host", async () => {
    await using user = await createBudgieUser();
    const { ask, stderr } = await user.serve({
      args: ["--env", "MY_PROXY,MY_REGION"],
      env: { MY_PROXY: "p", MY_REGION: "r", KIRO_API_KEY: "key", AWS_SECRET_ACCESS_KEY: "secret" },
    });

    const answer = await ask("code-reviewer", { prompt: "[[env]]" });

    const seen = JSON.parse(toText(answer)) as Record<string, string>;
    expect(seen).toMatchObject({ MY_PROXY: "p", MY_REGION: "r", KIRO_API_KEY: "key", HOME: user.host.home });
    expect(seen).not.toHaveProperty("AWS_SECRET_ACCESS_KEY");
    expect(stderr()).toMatch(/^budgie: Agents do not get these variables: AWS_SECRET_ACCESS_KEY\. .*--env NAME\.$/m);
  });

  it.runIf(process.platform === "linux")("gets what the client's entry sets, and nothing of the client", async () => {
    await using user = await createBudgieUser();
    // This process is the client, whose own variables budgie finds in /proc.
    const own = readFileSync("/proc/self/environ", "utf8")
      .split("\0")
      .filter((entry) => entry.startsWith("VITEST"));
    const [name = "", value = ""] = own[0]?.split("=") ?? [];
    const env = {
      ENTRY_TOKEN: "e",
      [name]: value,
      AWS_PROFILE: "p",
      BUDGIE_HTTP_TOKEN: "t",
      NODE_OPTIONS: "--no-warnings",
    };
    const { ask } = await user.start({ env });

    const answer = await ask("code-reviewer", { prompt: "[[env]]" });

    const seen = JSON.parse(toText(answer)) as Record<string, string>;
    expect(name).not.toBe("");
    expect(seen).toMatchObject({ ENTRY_TOKEN: "e", AWS_PROFILE: "p" });
    expect(seen).not.toHaveProperty(name);
    for (const hidden of ["BUDGIE_HTTP_TOKEN", "NODE_OPTIONS"]) expect(seen).not.toHaveProperty(hidden);
  });
});
