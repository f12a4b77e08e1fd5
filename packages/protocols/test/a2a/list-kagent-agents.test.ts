import { afterEach, describe, expect, it } from "vitest";
import { failureOf, sendJson, startKagentServer, startScriptedServer } from "@budgie/testkit";
import { listKagentAgents } from "../../src/a2a/index.ts";
import { run } from "./helpers/run.ts";

let stack: AsyncDisposable[] = [];
afterEach(async () => {
  await Promise.all(stack.map((one) => one[Symbol.asyncDispose]()));
  stack = [];
});

const signal = new AbortController().signal;

describe("the agents of a kagent backend", () => {
  it.each([
    ["0.10", "0.3"],
    ["0.10", "1.0"],
    ["0.10", undefined],
    ["1.0", "1.0"],
  ] as const)(
    "of version %s are those that are accepted and ready, and answer over A2A %s",
    async (kagent, version) => {
      const agents = [
        { name: "k8s-agent", description: "Knows\nthe cluster" },
        { name: "unaccepted", accepted: false },
        { name: "unready", ready: false },
      ];
      const server = await startKagentServer({ agents, kagent, version, authorization: "Bearer t0ken" });
      stack.push(server);

      const found = await listKagentAgents(
        { url: `${server.url}/`, headers: { authorization: "Bearer t0ken" } },
        { signal },
      );

      expect(found).toMatchObject([
        { name: "kagent.k8s-agent", description: "Knows the cluster", server: { url: server.agentUrl("k8s-agent") } },
      ]);
      const [{ server: place } = { server: { url: "", headers: {} } }] = found;
      expect((await run(place.url, { headers: place.headers })).response).toBe("told: List the pods");
    },
  );

  it("that run in kagent's sandboxes have another address, and want the conversation's id", async () => {
    const entry = { ...toEntry("kagent", "boxed"), workloadMode: "sandbox" };
    const server = await startScriptedServer((_call, response) => sendJson(response, { data: [entry] }));
    stack.push(server);

    const [found] = await listKagentAgents({ url: server.url, headers: {} }, { signal });

    expect(found?.server).toEqual({
      url: `${server.url}/api/a2a-sandboxes/kagent/boxed/`,
      headers: {},
      namesContext: true,
    });
  });

  it("are at most 200, and none has a name that Kubernetes would not allow", async () => {
    const bad = [
      ["..", "a"],
      ["a/b", "c"],
      ["a", "../../b"],
      ["a", "b c"],
      ["a", "\u001b[31m"],
      ["a", ""],
    ];
    const many = Array.from({ length: 5000 }, (_, index) => toEntry("kagent", `agent-${index}`, "x".repeat(100)));
    const entries = [null, 7, {}, ...bad.map(([namespace, name]) => toEntry(namespace, name)), ...many];
    const server = await startScriptedServer((_call, response) => sendJson(response, { data: entries }));
    stack.push(server);

    const found = await listKagentAgents({ url: server.url, headers: {} }, { signal });

    expect(found).toHaveLength(200);
    expect(found.every(({ name }) => /^kagent\.agent-\d+$/.test(name))).toBe(true);
  });

  it("have descriptions of at most 2000 characters, on one line", async () => {
    const entry = toEntry("kagent", "wordy", "\u001b[31mword \n".repeat(10_000));
    const server = await startScriptedServer((_call, response) => sendJson(response, { data: [entry] }));
    stack.push(server);

    const [found] = await listKagentAgents({ url: server.url, headers: {} }, { signal });

    expect(found?.description).toMatch(/^(?:word )+/);
    expect(found?.description.length).toBeLessThanOrEqual(2003);
  });

  it.each([
    ["no list", (): unknown => ({ error: true }), "sent no list"],
    ["more than 4 MiB", (): unknown => ({ data: "x".repeat(5_000_000) }), "more than 4 MiB"],
  ])("are unknown if the backend sends %s", async (_name, body, message) => {
    const server = await startScriptedServer((_call, response) => sendJson(response, body()));
    stack.push(server);

    const error = await failureOf(listKagentAgents({ url: server.url, headers: {} }, { signal }));

    expect(error).toMatchObject({ code: "AGENT_FAILED", message: expect.stringContaining(message) });
  });

  it("are unknown if the backend has neither kind of list", async () => {
    const server = await startScriptedServer((_call, response) => sendJson(response, {}, 404));
    stack.push(server);

    const error = await failureOf(listKagentAgents({ url: server.url, headers: {} }, { signal }));

    expect(error).toMatchObject({
      code: "AGENT_FAILED",
      message: expect.stringContaining("over gRPC-Web (from 1.0 on)"),
    });
  });

  it("are unknown if the backend is dead", async () => {
    const server = await startScriptedServer(() => undefined);
    await server[Symbol.asyncDispose]();

    expect((await failureOf(listKagentAgents({ url: server.url, headers: {} }, { signal }))).code).toBe(
      "RUNNER_UNAVAILABLE",
    );
  });
});

function toEntry(namespace: unknown, name: unknown, description = "") {
  return { agent: { metadata: { name, namespace }, spec: { description } }, accepted: true, deploymentReady: true };
}
