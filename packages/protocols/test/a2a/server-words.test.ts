import { TurnEvents } from "@budgie/core/protocol";
import { describe, expect, it } from "vitest";
import { failureOf, sendJson } from "@budgie/testkit";
import { createFiles, run } from "./helpers/run.ts";
import { serve } from "./helpers/serve.ts";
import { sendEvent, WIRES, withCard } from "./helpers/wires.ts";

describe.each(WIRES)("the words of a server of A2A $version", ({ card, artifact, message, status }) => {
  it("whose answer is too long is cut, with a warning", async () => {
    const server = await serve(
      withCard(card, (_call, response) => {
        for (let piece = 0; piece < 6; piece++) sendEvent(response, artifact("a", "x".repeat(2 ** 20)));
        sendEvent(response, status("completed"));
        response.end();
      }),
    );

    const { response, warnings } = await run(server.url);

    expect(response.length).toBe(4 * 2 ** 20);
    expect(warnings).toEqual(["The answer was too long, and its end was discarded."]);
  });

  it("that says nothing is an error", async () => {
    const server = await serve(
      withCard(card, (_call, response) => {
        sendEvent(response, status("completed"));
        response.end();
      }),
    );

    expect(await failureOf(run(server.url))).toMatchObject({
      code: "AGENT_FAILED",
      message: expect.stringContaining("said nothing"),
    });
  });

  it("whose words hold terminal sequences has them removed from errors and activities", async () => {
    const activities: string[] = [];
    const server = await serve(
      withCard(card, (_call, response) => {
        sendEvent(response, status("working", "a\u001b[31mb\nc"));
        sendEvent(response, status("failed", "\u001b]0;title\u0007bad\nluck"));
        response.end();
      }),
    );

    const events = new TurnEvents().on("activity", (activity) => void activities.push(activity));
    const error = await failureOf(run(server.url, { events }));

    expect(activities).toEqual(["ab c"]);
    expect(error.message).toBe('The task of the agent "k8s" failed (bad luck).');
  });

  it("that never answers is left when the turn's time is over", async () => {
    const server = await serve(withCard(card, () => undefined));

    const error = await failureOf(run(server.url, { timeoutMs: 300 }));

    expect(error).toMatchObject({ code: "TIMED_OUT" });
  });

  it("that does not confirm the end of a task is said to perhaps go on", async () => {
    const stop = new AbortController();
    const server = await serve(
      withCard(card, (_call, response) => void sendEvent(response, status("working", "On it"))),
    );

    const events = new TurnEvents().on("activity", () => stop.abort());
    const turn = run(server.url, { signal: stop.signal, cancelTimeoutMs: 50, events });

    expect(await failureOf(turn)).toMatchObject({
      code: "CANCELLED",
      message: expect.stringContaining("may go on there"),
    });
  });

  it("that begins a conversation other than the session's is reported", async () => {
    const session = createFiles();
    const contexts = ["c1", "c2"];
    const server = await serve(
      withCard(card, (_call, response) => {
        sendEvent(response, JSON.parse(JSON.stringify(message("Hello.")).replace('"c1"', `"${contexts.shift()}"`)));
        response.end();
      }),
    );
    await run(server.url, { session });

    const { warnings } = await run(server.url, { session, resume: true });

    expect(warnings).toEqual([expect.stringContaining("began a new conversation")]);
  });

  it("that lacks streams though its card has them is called without", async () => {
    const server = await serve(
      withCard(card, ({ method }, response) => {
        if (/stream/i.test(method ?? ""))
          return sendJson(response, { error: { code: -32_601, message: "Method not found" } });
        sendJson(response, { result: message("Hello.") });
      }),
    );

    expect((await run(server.url)).response).toBe("Hello.");
  });

  it("that refuses a call is quoted, and is not called again", async () => {
    const server = await serve(
      withCard(card, (_call, response) => sendJson(response, { error: { code: -32_004, message: "not\nnow" } }, 400)),
    );

    expect((await failureOf(run(server.url))).message).toBe(
      'The server of the agent "k8s" refused the call (not now, -32004).',
    );
    expect(server.calls).toHaveLength(2);
  });
});
