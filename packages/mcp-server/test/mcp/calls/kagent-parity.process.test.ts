import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { startHttpBudgie } from "../http/start-http-budgie.ts";
import { createBudgieUser, toText, waitFor, type BudgieUser } from "../../../../cli/test/helpers/start-budgie.ts";

// A handshake for kagent's server; docs/clients.md has the whole comparison.
const HANDSHAKE = [
  {
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2024-11-05", capabilities: {}, clientInfo: { name: "manual", version: "0.0.0" } },
  },
  { method: "notifications/initialized", params: {} },
  { id: 2, method: "tools/list", params: {} },
];

type Answer = Parameters<typeof toText>[0];

const ROUTER = ["--tools", "router"];

describe("a feature of kagent's agent server", () => {
  it("exists in budgie: a handshake from a pipe is answered", async () => {
    await using user = await createBudgieUser();
    const child = user.launch(ROUTER);
    child.stderr?.resume();

    child.stdin?.end(HANDSHAKE.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join(""));
    const lines = child.stdout === null ? [] : (await text(child.stdout)).trimEnd().split("\n");

    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { id: 1, result: { protocolVersion: "2024-11-05", serverInfo: { name: "budgie" } } },
      { id: 2, result: { tools: [{ name: "invoke_agent" }, { name: "list_agents" }] } },
    ]);
  });

  it("exists in budgie over stdio: agents are listed and invoked, and their context is kept", async () => {
    await using user = await createBudgieUser();
    const { client } = await user.serve({ args: ROUTER });

    await expectTurns(client, user);
  });

  it("exists in budgie over HTTP: agents are listed and invoked, and their context is kept", async () => {
    await using user = await createBudgieUser();
    await using budgie = await startHttpBudgie(user, { args: ROUTER });
    const { client } = await budgie.connect();

    await expectTurns(client, user);
    expect(budgie.stderr()).toMatch(/^budgie: Listening on http:\/\/127\.0\.0\.1:\d+\/mcp$/m);
  });

  it("exists in budgie over HTTP: each client has its own context without naming it", async () => {
    await using user = await createBudgieUser();
    await using budgie = await startHttpBudgie(user, { args: [...ROUTER, "--sticky-sessions"] });
    const [one, other] = [await budgie.connect(), await budgie.connect()];
    const input = { agent: "code-reviewer", directory: user.workspace };
    const invoke = (client: Client, prompt: string): Promise<Answer> =>
      client.callTool({ name: "invoke_agent", arguments: { ...input, prompt } }) as Promise<Answer>;

    await invoke(one.client, "Keep token-parrot.");
    await invoke(other.client, "Keep token-cockatoo.");

    expect(toText(await invoke(one.client, "[[recall]]"))).toBe("token-parrot");
    expect(toText(await invoke(other.client, "[[recall]]"))).toBe("token-cockatoo");
  });

  it("exists in budgie: it starts without agents, and lists none", async () => {
    await using user = await createBudgieUser();
    rmSync(user.host.agentsDir, { recursive: true });
    const { client } = await user.serve({ args: ROUTER });

    const { isError, structuredContent } = await client.callTool({ name: "list_agents" });

    expect(isError).toBe(false);
    expect(structuredContent).toEqual({ agents: [] });
  });

  it("exists in budgie: a new agent is listed at once, and can be invoked", async () => {
    await using user = await createBudgieUser();
    const { client } = await user.serve({ args: ROUTER });
    await client.callTool({ name: "list_agents" });

    const allowedTools = ["fs_read", "fs_write"];
    const agent = { name: "newcomer", description: "sub-agent: Came later", tools: allowedTools, allowedTools };
    writeFileSync(join(user.host.agentsDir, "newcomer.json"), JSON.stringify(agent));
    await waitFor(async () => {
      const { structuredContent } = await client.callTool({ name: "list_agents" });
      return JSON.stringify(structuredContent).includes('"newcomer"');
    });
    const input = { agent: "newcomer", prompt: "Hello", directory: user.workspace };
    const answer = await client.callTool({ name: "invoke_agent", arguments: input });

    expect(toText(answer as Answer)).toBe("You asked: Hello");
  });

  it("exists in budgie: a missing agent or task is the tool's error", async () => {
    await using user = await createBudgieUser();
    const { client } = await user.serve({ args: ROUTER });
    const invoke = (input: Record<string, unknown>): ReturnType<Client["callTool"]> =>
      client.callTool({ name: "invoke_agent", arguments: { directory: user.workspace, ...input } });

    const unknown = await invoke({ agent: "nobody", prompt: "Hello" });
    const idle = await invoke({ agent: "code-reviewer" });

    expect(unknown).toMatchObject({ isError: true, structuredContent: { code: "AGENT_NOT_FOUND" } });
    expect(idle).toMatchObject({ isError: true, structuredContent: { code: "INPUT_INVALID" } });
  });
});

async function expectTurns(client: Client, { workspace: directory }: BudgieUser): Promise<void> {
  const call = { name: "invoke_agent", arguments: { agent: "code-reviewer", directory } };
  const { structuredContent: listed } = await client.callTool({ name: "list_agents" });
  const first = await client.callTool({ ...call, arguments: { ...call.arguments, prompt: "Keep token-parrot." } });
  const { sessionId } = first.structuredContent as { sessionId: string };
  const next = { ...call.arguments, prompt: "[[recall]]", sessionId };
  const second = await client.callTool({ ...call, arguments: next });

  expect(listed).toMatchObject({ agents: [{ name: "code-reviewer" }, { name: "reader" }, { name: "shell-worker" }] });
  expect(toText(second as Answer)).toBe("token-parrot");
}
