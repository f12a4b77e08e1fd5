import { TurnEvents } from "@budgie/core/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { failureOf, startKagentServer, type KagentServer } from "@budgie/testkit";
import { createFiles, run } from "./helpers/run.ts";

const CASES = [
  { version: "1.0", streaming: true, methods: ["SendStreamingMessage"], cancel: "CancelTask", kagent: "0.10" },
  { version: "1.0", streaming: false, methods: ["SendMessage", "GetTask"], cancel: "CancelTask", kagent: "0.10" },
  { version: "1.0", streaming: true, methods: ["SendStreamingMessage"], cancel: "CancelTask", kagent: "1.0" },
  { version: "0.3", streaming: true, methods: ["message/stream"], cancel: "tasks/cancel", kagent: "0.10" },
  { version: "0.3", streaming: false, methods: ["message/send", "tasks/get"], cancel: "tasks/cancel", kagent: "0.10" },
] as const;

describe.each(CASES)("an agent over A2A $version of kagent $kagent, streaming: $streaming", (oneCase) => {
  const { cancel, kagent, methods, streaming, version } = oneCase;
  let server: KagentServer;
  let url: string;
  beforeAll(async () => {
    server = await startKagentServer({ kagent, version, streaming });
    url = server.agentUrl("k8s-agent");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("answers a prompt with its artifact, by the calls of its version", async () => {
    const before = server.calls.length;

    const answer = await run(url, { prompt: "List the pods" });

    expect(answer).toMatchObject({ response: "told: List the pods", denied: [], warnings: [] });
    expect(answer.exit).toEqual({ exitCode: undefined, signal: undefined, reason: undefined, oomKilled: false });
    expect([...new Set(server.calls.slice(before))]).toEqual(methods);
  });

  it("continues the conversation of its session, and begins another in another session", async () => {
    const session = createFiles();
    await run(url, { session, prompt: "one" });

    expect((await run(url, { session, prompt: "two", resume: true })).response).toBe("told: one | two");
    expect((await run(url, { prompt: "three" })).response).toBe("told: three");
  });

  it("is cancelled in the server when its turn is", async () => {
    const stop = new AbortController();
    const session = createFiles();
    const turn = run(url, {
      session,
      prompt: "[[wait]]",
      signal: stop.signal,
      events: new TurnEvents().on("activity", () => stop.abort()),
    });

    const error = await failureOf(turn);

    expect(error).toMatchObject({ code: "CANCELLED", message: expect.stringContaining("Its task is cancelled.") });
    expect(server.calls.at(-1)).toBe(cancel);
    expect((await run(url, { session, prompt: "again", resume: true })).response).toBe("told: [[wait]] | again");
  });

  it("is cancelled in the server when its time is over", async () => {
    const error = await failureOf(run(url, { prompt: "[[wait]]", timeoutMs: 1500 }));

    expect(error.code).toBe("TIMED_OUT");
    expect(error.message).toMatch(/did not finish within .* more time/);
  });

  it("joins the pieces of an artifact, and separates artifacts", async () => {
    expect((await run(url, { prompt: "[[pieces]]" })).response).toBe("one two\n\nthree");
  });

  it("answers with its data as JSON where it has no text", async () => {
    expect((await run(url, { prompt: "[[data]]" })).response).toBe('{"pods":3}');
  });

  it("asks the caller, whose next prompt continues the same task", async () => {
    const session = createFiles();
    const asked = await run(url, { session, prompt: "[[question]]" });

    expect(asked).toMatchObject({
      response: "Which cluster?",
      warnings: [expect.stringContaining("waits for the caller")],
    });
    const answered = await run(url, { session, prompt: "The blue one", resume: true });
    expect(answered).toMatchObject({ response: "told: [[question]] | The blue one", warnings: [] });
  });

  it.each([
    ["[[fail]]", "AGENT_FAILED", 'The task of the agent "k8s" failed (No pods left).'],
    ["[[reject]]", "AGENT_FAILED", "was rejected by its server (Not for me)"],
    ["[[login]]", "LOGIN_REQUIRED", "needs a login on its side (Log in to the cluster)"],
  ])("that ends with %s is an error", async (prompt, code, message) => {
    expect(await failureOf(run(url, { prompt }))).toMatchObject({ code, message: expect.stringContaining(message) });
  });

  it("tells what it does meanwhile", async () => {
    const [activities, output]: [string[], string[]] = [[], []];

    await run(url, {
      events: new TurnEvents()
        .on("activity", (activity) => void activities.push(activity))
        .on("output", (chunk) => void output.push(String(chunk))),
    });

    if (streaming) expect(activities).toEqual(["Thinking"]);
    expect(output.join("")).toContain("told: List the pods");
  });
});
