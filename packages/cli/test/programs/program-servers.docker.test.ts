import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { createFakeLlm, startMockServer, type FakeLlm, type MockServer } from "@budgie/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toShellServer } from "../../../mcp-manager/test/serving/shell-server.ts";
import { beginSession } from "../../../mcp-manager/test/serving/start-coder.ts";
import { createBudgieUser, toText } from "../helpers/start-budgie.ts";
import { createContainerPlace } from "./container-place.ts";
import type { ProgramHost } from "./place.ts";
import { PROGRAMS } from "./programs.ts";

// Gemini CLI takes no servers in a folder that it does not trust, and loses a conversation that it loads a second time.
const { "Gemini CLI": _, ...TAKING } = PROGRAMS;

describe.each(Object.entries(TAKING))("%s in a sandbox and its MCP servers", { timeout: 300_000 }, (_, program) => {
  let llm: FakeLlm;
  let far: MockServer;
  let place: ProgramHost;
  beforeAll(async () => {
    llm = await createFakeLlm();
    far = await startMockServer({ tools: [{ name: "echo" }, { name: "other" }] });
    place = await createContainerPlace(program, llm);
  });
  afterAll(async () => {
    await far[Symbol.asyncDispose]();
    await llm[Symbol.asyncDispose]();
  });

  it("are called by its model, in each process of the session, and others are not there", async () => {
    await using user = await createBudgieUser();
    const folder = join(user.host.home, ".kiro/settings");
    mkdirSync(folder, { recursive: true });
    const mcpServers = { far: { url: far.url }, shell: toShellServer(), hidden: toShellServer() };
    writeFileSync(join(folder, "mcp.json"), JSON.stringify({ mcpServers }));
    const facts = { mcp: { far: { tools: ["echo"] }, shell: {} } };
    const { client, ended } = await place.serve(user, { program, facts, args: ["--warm-idle", "0"] });
    const ask = async (prompt: string, sessionId?: unknown): Promise<CallToolResult> => {
      const call = { name: "kiro-subagents.coder", arguments: { directory: user.workspace, prompt, sessionId } };
      return (await client.callTool(call, undefined, { timeout: 120_000 })) as CallToolResult;
    };

    const sessionId = await beginSession({
      ask: async (_name, input) => ask(String(input["prompt"]), input["sessionId"]),
    });
    const calls = `[[tool @shell/sh: ${SCRIPT}]] [[tool @far/echo: {"a":"parrot"}]] [[tool @far/other]]`;
    const first = await ask(calls, sessionId);

    expect(toText(first)).toContain("sum-42");
    expect(toText(first)).toMatch(/a\\*":\\*"parrot/);
    expect(toText(first)).toContain("I have no tool @far/other.");
    expect(first.structuredContent).not.toHaveProperty("denied");
    expect(first.structuredContent).toMatchObject({
      mcpServers: [
        { name: "far", state: "ready", run: "address", tools: 1, calls: 1, failed: 0 },
        { name: "shell", state: "ready", run: "sandbox", tools: 1, calls: 1, failed: 0 },
      ],
    });

    const resumed = await ask(`[[tool @shell/sh: ${SCRIPT}]] [[tool @hidden/sh]]`, sessionId);
    expect(toText(resumed)).toContain("sum-42");
    expect(toText(resumed)).toContain("I have no tool @hidden/sh.");
    expect(resumed.structuredContent).toMatchObject({ mcpServers: [{ calls: 0 }, { calls: 1 }] });

    await client.close();
    await ended;
    expect(await place.listTraces(user)).toEqual([]);
  });
});

const SCRIPT = JSON.stringify({ script: "echo sum-$((6 * 7))" });
