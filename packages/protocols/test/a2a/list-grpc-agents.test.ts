import type { ServerResponse } from "node:http";
import { describe, expect, it, onTestFinished } from "vitest";
import { failureOf, startKagentServer, type KagentServerOptions } from "@budgie/testkit";
import { listKagentAgents, type KagentAgent } from "../../src/a2a/index.ts";
import { agent, answer, DONE, field, frame, object, sendGrpc, varint, withNamespace } from "./helpers/grpc.ts";
import { serve } from "./helpers/serve.ts";

const signal = new AbortController().signal;
const TOKEN = "t0ken-of-kagent";

describe("a kagent backend from 1.0 on", () => {
  it("lists an agent whose description is in a template that it shares", async () => {
    const agents = [{ name: "k8s-agent", description: "Knows the cluster", template: "k8s" }];
    const found = await listKagentAgents(await startBackend({ agents }), { signal });

    expect(found).toMatchObject([{ name: "kagent.k8s-agent", description: "Knows the cluster" }]);
  });

  it("lists the agents of the namespaces that its user may see", async () => {
    const found = await listKagentAgents(await startBackend({ secretNamespaces: ["kube-system"] }), { signal });

    expect(found).toMatchObject([{ name: "kagent.k8s-agent" }]);
  });

  it("asks for a login if its user may see none", async () => {
    const backend = await startBackend({ secretNamespaces: ["default", "kagent"] });

    expect(await failureOf(listKagentAgents(backend, { signal }))).toMatchObject({
      code: "LOGIN_REQUIRED",
      message: expect.stringContaining("gRPC status 7"),
    });
  });

  it("asks for a login if it knows no such user", async () => {
    const backend = await startBackend({ authorization: "Bearer another" });

    expect((await failureOf(listKagentAgents(backend, { signal }))).code).toBe("LOGIN_REQUIRED");
  });
});

describe("the gRPC of a kagent backend", () => {
  it.each<readonly [name: string, body: Buffer, end: readonly [code: string, words: string]]>([
    ["a frame that claims 4 GiB", frame(0, "x", 2 ** 32 - 1), ["AGENT_FAILED", "not gRPC-Web"]],
    ["half a frame", frame(0, "x".repeat(10), 20), ["AGENT_FAILED", "not gRPC-Web"]],
    ["half a head", Buffer.from([0, 0, 0]), ["AGENT_FAILED", "not gRPC-Web"]],
    ["a compressed frame", Buffer.concat([frame(1, "x"), DONE]), ["AGENT_FAILED", "not gRPC-Web"]],
    ["two answers", Buffer.concat([frame(0, ""), frame(0, ""), DONE]), ["AGENT_FAILED", "not gRPC-Web"]],
    ["no trailers", frame(0, ""), ["AGENT_CRASHED", "ended before its answer"]],
    ["trailers without a status", frame(0x80, "x: y"), ["AGENT_CRASHED", "ended before its answer"]],
    ["an error", frame(0x80, "grpc-status: 13\r\ngrpc-message: No%20pods"), ["AGENT_FAILED", "status 13: No pods."]],
    ["an error that is not encoded", frame(0x80, "grpc-status:2\r\ngrpc-message:5% off"), ["AGENT_FAILED", "5% off"]],
    ["an error with its headers", frame(0x80, `grpc-status: 3\r\ngrpc-message: ${TOKEN}`), ["AGENT_FAILED", "3: …."]],
    ["a refusal", frame(0x80, "grpc-status: 16\r\n"), ["LOGIN_REQUIRED", "refused budgie"]],
    ["no such method", frame(0x80, "grpc-status: 12\r\n"), ["AGENT_FAILED", "no list of agents"]],
    ["a group", answer(Buffer.from([0x0b, 0x0c])), ["AGENT_FAILED", "wire type 3"]],
    ["a field that ends too late", answer(Buffer.from([0x0a, 0x7f, 1])), ["AGENT_FAILED", "a truncated field"]],
    ["a fixed field that ends too late", answer(Buffer.from([0x09, 1])), ["AGENT_FAILED", "a truncated field"]],
    ["half a number", answer(Buffer.from([0x08, 0xff])), ["AGENT_FAILED", "a truncated field"]],
    ["an endless number", answer(Buffer.from([0x08, ...Array(20).fill(0xff)])), ["AGENT_FAILED", "10 bytes"]],
    ["a field of number 0", answer(Buffer.from([0x02, 0])), ["AGENT_FAILED", "without a number"]],
    ["a length of 2^63", answer(Buffer.concat([Buffer.from([0x0a]), varint(2 ** 63)])), ["AGENT_FAILED", "truncated"]],
    [
      "100,000 agents",
      answer(...Array.from({ length: 100_000 }, () => agent("a"))),
      ["AGENT_FAILED", "more than 4 MiB"],
    ],
    ["40,000 agents", answer(...Array.from({ length: 40_000 }, () => agent("a"))), ["AGENT_FAILED", "too many fields"]],
    ["2,000,000 fields", answer(Buffer.alloc(4_000_000, Buffer.from([0x08, 1]))), ["AGENT_FAILED", "too many fields"]],
  ])("that sends %s is an error", async (_name, body, [code, words]) => {
    const error = await failureOf(list((response) => sendGrpc(response, body)));

    expect(error).toMatchObject({ code, message: expect.stringContaining(words) });
    expect(error.message).not.toContain(TOKEN);
  });

  it.each<
    readonly [name: string, send: (response: ServerResponse) => void, end: readonly [code: string, words: string]]
  >([
    ["an endless answer", flood, ["AGENT_FAILED", "more than 4 MiB"]],
    ["a page", (response) => void response.end("<html>"), ["AGENT_FAILED", "not gRPC-Web"]],
    ["a redirect", (response) => void response.writeHead(302, { location: "/" }).end(), ["AGENT_FAILED", "redirect"]],
    ["a broken connection", (response) => void response.destroy(), ["RUNNER_UNAVAILABLE", "Cannot reach"]],
  ])("that answers a call with %s is an error", async (_name, send, [code, words]) => {
    expect(await failureOf(list(send))).toMatchObject({ code, message: expect.stringContaining(words) });
  });

  it("lists at most 200 agents, and none with a name that Kubernetes would not allow", async () => {
    const bad = ["../..", "a/b", "a b", "\u001b[31m", ""].map((name) => agent(name));
    const many = Array.from({ length: 5000 }, (_, index) => agent(`agent-${index}`));

    const found = await list((response) => sendGrpc(response, answer(...bad, ...many)));

    expect(found).toHaveLength(200);
    expect(found.every(({ name }) => /^kagent\.agent-\d+$/.test(name))).toBe(true);
  });

  it("leaves out agents with other types in their fields, or without a revision", async () => {
    const number = Buffer.concat([Buffer.from([0x08, 1]), Buffer.from([0x15, 1, 2, 3, 4])]);
    const odd = [field(1, number), field(1, ""), agent("empty", object("latestSuccessfulRevision", field(3, "")))];
    const typed = [
      agent("number", object("latestSuccessfulRevision", number)),
      agent("text", field(1, field(1, "status"))),
    ];

    const found = await list((response) => sendGrpc(response, answer(...odd, ...typed, agent("good"))));

    expect(found).toMatchObject([{ name: "kagent.good" }]);
  });

  it("may nest objects deeply beside what is read", async () => {
    let deep = object("a", field(3, "b"));
    for (let depth = 0; depth < 5000; depth++) deep = object("a", field(5, deep));
    const status = Buffer.concat([deep, object("latestSuccessfulRevision", field(3, "r1"))]);

    expect(await list((response) => sendGrpc(response, answer(agent("deep", status))))).toHaveLength(1);
  });

  it("is asked for the agents of at most 200 namespaces, each with a name that Kubernetes allows", async () => {
    const names = ["..", "a/b", "", ...Array.from({ length: 1000 }, (_, index) => `n${index}`)];
    const namespaces = answer(...names.map((name) => field(1, field(1, name))));
    const server = await serve(({ path }, response) => {
      if (path.endsWith("/api/agents")) response.writeHead(404).end();
      else sendGrpc(response, path.endsWith("/ListNamespaces") ? namespaces : answer());
    });

    expect(await listKagentAgents({ url: server.url, headers: {} }, { signal })).toEqual([]);
    expect(server.calls.filter(({ path }) => path.endsWith("/ListAgents"))).toHaveLength(200);
  });
});

async function startBackend(options: KagentServerOptions) {
  const server = await startKagentServer({ kagent: "1.0", authorization: `Bearer ${TOKEN}`, ...options });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return { url: server.url, headers: { authorization: `Bearer ${TOKEN}` } };
}

async function list(listAgents: (response: ServerResponse) => void): Promise<readonly KagentAgent[]> {
  const server = await serve(withNamespace(listAgents));
  return listKagentAgents({ url: server.url, headers: { authorization: `Bearer ${TOKEN}` } }, { signal });
}

/** Sends one answer for as long as somebody reads it. */
function flood(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/grpc-web+proto" });
  response.write(frame(0, "", 2 ** 32 - 1));
  const chunk = Buffer.alloc(64 * 1024);
  const more = () => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on("drain", more);
  more();
}
