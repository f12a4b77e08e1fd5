import { TurnEvents } from "@budgie/core/protocol";
import { describe, expect, it } from "vitest";
import { failureOf, sendJson } from "@budgie/testkit";
import { listKagentAgents } from "../../src/a2a/index.ts";
import { run } from "./helpers/run.ts";
import { serve } from "./helpers/serve.ts";
import { sendEvent, WIRES, withCard } from "./helpers/wires.ts";

const SECRET = 's3cret"t0ken-of-the-cluster';
const headers = { authorization: `Bearer ${SECRET}`, "x-key": "k3y-67" };
const ECHO = `got Bearer ${SECRET}, ${SECRET} and k3y-67`;

describe.each(WIRES)("a server of A2A $version that echoes the headers of a request", ({ card, message, status }) => {
  it("does not get them into the error for a status", async () => {
    const server = await serve(withCard(card, (_call, response) => response.writeHead(500).end(ECHO)));

    expect((await failureOf(run(server.url, { headers }))).message).toContain("HTTP 500: got …, … and ….");
  });

  it("does not get them into the error for a card, whose body is JSON", async () => {
    const server = await serve((_call, response) => sendJson(response, { echo: ECHO }, 500));

    expect((await failureOf(run(server.url, { headers }))).message).toContain('{"echo":"got …, … and …"}');
  });

  it("does not get the part of one before the place where its words are cut into an error", async () => {
    const words = `${"x".repeat(290)} ${SECRET}`;
    const server = await serve(withCard(card, (_call, response) => response.writeHead(500).end(words)));

    expect((await failureOf(run(server.url, { headers }))).message).not.toContain("s3c");
  });

  it("does not get them into the error for a refused call", async () => {
    const server = await serve(
      withCard(card, (_call, response) => sendJson(response, { error: { code: -32_004, message: ECHO } })),
    );

    expect((await failureOf(run(server.url, { headers }))).message).toContain("(got …, … and …, -32004)");
  });

  it("does not get them into the error for a failed task, nor into its report", async () => {
    const server = await serve(
      withCard(card, (_call, response) => {
        sendEvent(response, status("failed", ECHO));
        response.end();
      }),
    );

    const error = await failureOf(run(server.url, { headers }));

    expect(error.message).toContain("failed (got …, … and …)");
    expect(error.report.response).toBe("got …, … and …");
  });

  it("gets those that may be ordinary words into an answer, and no longer ones", async () => {
    const output: string[] = [];
    const server = await serve(
      withCard(card, (_call, response) => {
        sendEvent(response, message(ECHO));
        response.end();
      }),
    );

    const events = new TurnEvents().on("output", (chunk) => void output.push(String(chunk)));
    const answer = await run(server.url, { headers, events });

    expect(answer.response).toBe("got …, … and k3y-67");
    expect(output.join("")).not.toContain("s3c");
  });
});

describe("a kagent backend that echoes the headers of a request", () => {
  it("does not get them into the error for its list", async () => {
    const server = await serve((_call, response) => response.writeHead(500).end(ECHO));

    const error = await failureOf(
      listKagentAgents({ url: server.url, headers }, { signal: new AbortController().signal }),
    );

    expect(error.message).toContain("HTTP 500: got …, … and ….");
  });
});
