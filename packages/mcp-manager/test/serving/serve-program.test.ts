import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { createSessionId, loadAgents, type SandboxService } from "@budgie/core";
import { TurnEvents, type OfferedServers, type Protocol } from "@budgie/core/protocol";
import { createFakeRunner, serveOnLoopback, startMockServer } from "@budgie/testkit";
import { describe, expect, it } from "vitest";
import { findServers } from "../../src/agents/find-servers.ts";
import { serveMcpServers } from "../../src/serving/serve-mcp-servers.ts";
import { parseConfig } from "../../../cli/src/config/config.ts";
import { toServersConfig } from "../../../mcp-server/src/config/to-servers-config.ts";
import { allowFound } from "../../../cli/test/helpers/allow-servers.ts";
import { askThroughStep } from "../../../cli/test/helpers/served-agent.ts";
import { toSilentHost } from "../../../cli/test/helpers/to-silent-host.ts";

type Setting = {
  readonly mcp: object;
  /** The servers of the user's settings */
  readonly mcpServers: object;
  readonly args?: object;
  /** Makes the program refuse its servers once this has resolved; default it takes them */
  readonly refusesAfter?: (turn: number) => Promise<void>;
};

/** Prepares turns of a program whose section allows servers. */
async function setUp({ args = {}, mcp, mcpServers, refusesAfter }: Setting) {
  const home = mkdtempSync(join(tmpdir(), "budgie-mcp-"));
  mkdirSync(join(home, ".kiro/settings"), { recursive: true });
  writeFileSync(join(home, ".kiro/settings/mcp.json"), JSON.stringify({ mcpServers }));
  const host = toSilentHost({ home, cwd: home, env: { HOME: home } });
  const configFile = join(home, "budgie.json");
  const coder = { protocol: "acp", description: "Codes.", command: "coder-acp", mcp };
  writeFileSync(configFile, JSON.stringify({ agents: { coder } }));
  const config = parseConfig({ sandbox: true, config: configFile, ...args }, host);
  const servers = toServersConfig(config, host);
  const services: SandboxService[] = [];
  const runner = createFakeRunner(() => ({}));
  const opened = await runner.openSession(createSessionId());
  const session = { ...opened, serve: (service: SandboxService): string => `http://sandbox-${services.push(service)}` };
  const [agent] = loadAgents(config).agents;
  if (agent === undefined) throw new Error("The section defines no agent.");
  allowFound(agent, { config, host });
  let offered: OfferedServers | undefined;
  let turns = 0;
  const heard: string[] = [];
  const seen: Protocol = async (turn) => {
    expect(turn.agent).toBe(agent);
    offered = turn.offered;
    turns += 1;
    await refusesAfter?.(turns).then(offered?.onRefused);
    return { response: "", file: undefined, denied: [], warnings: [], exit: {} as never };
  };
  const step = serveMcpServers({ config: servers, runner, instance: "test", shared: new Map() });
  return {
    services,
    heard,
    /** Calls a tool as the program would, and resolves to the text of its result. */
    async call(name: string): Promise<string> {
      const [service] = services;
      const [server] = offered?.servers ?? [];
      if (service === undefined || server === undefined) throw new Error("No server is offered.");
      await using served = await serveOnLoopback(createServer(service.answer));
      const client = new Client({ name: "coder", version: "1" });
      const url = new URL(new URL(server.url).pathname, `http://127.0.0.1:${served.port}`);
      await client.connect(new StreamableHTTPClientTransport(url) as Transport);
      const { content } = await client.callTool({ name, arguments: { a: 1 } });
      await client.close();
      return JSON.stringify(content);
    },
    found: () => findServers(servers, { agent: "coder" }).map(({ name }) => name),
    async turn() {
      const turn = { agent, session, directory: home, prompt: "", resume: false, timeoutMs: 1000, signal: undefined };
      const events = new TurnEvents().on("mcpCall", ({ server, tool }) => void heard.push(`${server}/${tool}`));
      return { ...(await askThroughStep(step, seen, { ...turn, events })), offered: offered?.servers };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(services.map((service) => service[Symbol.asyncDispose]()));
      rmSync(home, { recursive: true });
    },
  };
}

describe("a program with MCP servers", () => {
  it("is offered those of the user's settings that its section names", async () => {
    await using far = await startMockServer({ tools: [{ name: "echo" }] });
    const mcpServers = { far: { url: far.url, headers: { "x-key": "canary" } }, other: { command: "x" } };
    await using setting = await setUp({ mcp: { far: {} }, mcpServers });

    const first = await setting.turn();
    const second = await setting.turn();

    const url = expect.stringMatching(/^http:\/\/sandbox-1\/mcp\/[\w-]{32}\/far$/);
    expect(first.offered).toEqual([{ name: "far", url }]);
    expect(first).toMatchObject({ warnings: [], mcpServers: [{ name: "far", run: "address", calls: 0 }] });
    expect(second.offered).toEqual(first.offered);
    expect(setting.found()).toEqual(["far"]);
  });

  it("has the next turn report what it calls between turns", async () => {
    await using far = await startMockServer({ tools: [{ name: "echo" }] });
    await using setting = await setUp({ mcp: { far: {} }, mcpServers: { far: { url: far.url } } });
    await setting.turn();

    expect(await setting.call("echo")).toContain('{\\"a\\":1}');

    expect(setting.heard).toEqual([]);
    expect(await setting.turn()).toMatchObject({ mcpServers: [{ name: "far", calls: 1, failed: 0 }] });
    expect(await setting.turn()).toMatchObject({ mcpServers: [{ name: "far", calls: 0, failed: 0 }] });
    expect(setting.heard).toEqual(["far/echo"]);
  });

  it("is offered those that all agents may have", async () => {
    await using far = await startMockServer({ tools: [{ name: "echo" }] });
    const mcpServers = { far: { url: far.url }, other: { command: "x" } };
    await using setting = await setUp({ mcp: {}, mcpServers, args: { allowMcp: ["far", "elsewhere"] } });

    const { offered, warnings } = await setting.turn();

    expect(offered).toMatchObject([{ name: "far" }]);
    expect(warnings).toEqual([]);
  });

  it("is offered none of the settings by itself", async () => {
    await using setting = await setUp({ mcp: {}, mcpServers: { other: { command: "x" } } });

    expect(await setting.turn()).toMatchObject({ offered: undefined, warnings: [] });
    expect(setting.services).toEqual([]);
  });

  it("has it told that the settings lack a server, or that its entry is wrong", async () => {
    await using setting = await setUp({ mcp: { wrong: {}, gone: {} }, mcpServers: { wrong: {}, alsoWrong: {} } });

    const { offered, warnings } = await setting.turn();

    expect(offered).toBeUndefined();
    expect(warnings).toEqual([
      expect.stringMatching(/"wrong" of the agent "coder" cannot be used: .* to have "command" or "url"/),
      expect.stringMatching(/"gone" of the agent "coder" cannot be used: ".*mcp.json" has no entry for it\.$/),
    ]);
  });

  it("that takes none keeps them from running, which each result says", async () => {
    await using far = await startMockServer({ tools: [{ name: "echo" }] });
    const refusesAfter = async (turn: number): Promise<void> => {
      // A client cannot end a session before it knows the session's id.
      const isHeardOf = (): boolean => far.requests.some(({ headers }) => headers["mcp-session-id"] !== undefined);
      if (turn === 1) await expect.poll(isHeardOf).toBe(true);
    };
    await using setting = await setUp({ mcp: { far: {} }, mcpServers: { far: { url: far.url } }, refusesAfter });

    const first = await setting.turn();
    const second = await setting.turn();

    const error = "the agent's program takes no MCP servers over HTTP";
    for (const answer of [first, second]) {
      expect(answer.mcpServers).toMatchObject([{ name: "far", state: "error", tools: 0, error }]);
      expect(answer.warnings).toEqual([`The MCP server "far" could not be used: ${error}.`]);
    }
    // With another address, the program would have to be started again.
    expect(second.offered).toEqual(first.offered);
    await expect.poll(far.sessions).toBe(0);
  });

  it("has those of its own settings alone without a sandbox, which the result says", async () => {
    const mcpServers = { one: { command: "x" } };
    await using setting = await setUp({ mcp: { one: {} }, mcpServers, args: { sandbox: false } });

    const { offered, warnings } = await setting.turn();

    expect(offered).toBeUndefined();
    expect(warnings).toEqual([
      "The agent did not get the MCP servers one, since without a sandbox it has those of its own settings alone.",
    ]);
    expect(setting.services).toEqual([]);
  });
});
