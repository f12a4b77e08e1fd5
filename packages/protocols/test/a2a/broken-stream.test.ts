import { describe, expect, it } from "vitest";
import { failureOf, sendJson } from "@budgie/testkit";
import { run } from "./helpers/run.ts";
import { serve } from "./helpers/serve.ts";
import { sendEvent, WIRES, withCard } from "./helpers/wires.ts";

describe.each(WIRES)("a server of A2A $version", ({ artifact, card, get, message, status }) => {
  it("is called at the address of the configuration, whatever its card says, with the configured headers", async () => {
    const server = await serve(
      withCard(card, (_call, response) => {
        sendEvent(response, message("Hello."));
        response.end();
      }),
    );

    const answer = await run(server.url, { headers: { authorization: "Bearer t0ken" } });

    expect(answer.response).toBe("Hello.");
    expect(server.calls.map(({ path }) => path)).toEqual(["/agent/.well-known/agent-card.json", "/agent"]);
    expect(server.calls.map(({ headers }) => headers.authorization)).toEqual(["Bearer t0ken", "Bearer t0ken"]);
  });

  it("that ends its stream in the middle of a task is asked for the rest", async () => {
    const server = await serve(
      withCard(card, ({ method }, response) => {
        if (method === get)
          return sendJson(response, {
            result: {
              id: "t1",
              contextId: "c1",
              status: { state: "completed" },
              artifacts: [{ artifactId: "a", parts: [{ text: "All of it" }] }],
            },
          });
        sendEvent(response, status("working"));
        response.end();
      }),
    );

    expect((await run(server.url)).response).toBe("All of it");
  });

  it("whose connection breaks in the middle of a task is asked for the rest", async () => {
    const server = await serve(
      withCard(card, ({ method }, response) => {
        if (method === get) return sendJson(response, { result: { id: "t1", status: { state: "failed" } } });
        sendEvent(response, status("working"));
        setImmediate(() => response.destroy());
      }),
    );

    expect(await failureOf(run(server.url))).toMatchObject({
      code: "AGENT_FAILED",
      message: expect.stringContaining("failed (without a reason)"),
    });
  });

  it("whose connection breaks before there is a task is an error", async () => {
    const server = await serve(
      withCard(card, (_call, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
        setImmediate(() => response.destroy());
      }),
    );

    expect((await failureOf(run(server.url))).code).toBe("AGENT_CRASHED");
  });

  it("that sends one endless event is no longer read", async () => {
    const server = await serve(
      withCard(card, (_call, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        const fill = (): void => {
          while (!response.destroyed && response.write("x".repeat(65_536)));
          response.once("drain", fill);
        };
        response.write("data: ");
        fill();
      }),
    );

    expect(await failureOf(run(server.url))).toMatchObject({
      code: "AGENT_FAILED",
      message: expect.stringContaining("more than 4 MiB"),
    });
  });

  it("that sends artifacts without end is no longer read, and not kept", async () => {
    const server = await serve(
      withCard(card, (_call, response) => {
        let sent = 0;
        const fill = (): void => {
          while (!response.destroyed && sendEvent(response, artifact(`a${sent++ % 3}`, "x".repeat(1_000_000))));
          response.once("drain", fill);
        };
        fill();
      }),
    );

    expect(await failureOf(run(server.url))).toMatchObject({
      code: "AGENT_FAILED",
      message: expect.stringContaining("more than 64 MiB"),
    });
  });
});
