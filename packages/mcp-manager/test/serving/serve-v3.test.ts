import { startMockServer } from "@budgie/testkit";
import { describe, expect, it } from "vitest";
import { setUp } from "../../../cli/test/helpers/served-agent.ts";

describe("an agent with MCP servers on Kiro's V3 harness", () => {
  it("is offered them, and its file stays as it is", async () => {
    await using far = await startMockServer({ tools: [{ name: "echo" }] });
    await using setting = await setUp({ mcp: { far: {} }, args: { kiroHarness: "v3" } });
    const servers = { far: { url: far.url, headers: { "x-key": "canary" } } };

    const { mcpServers, offered, shown, warnings } = await setting.turn(servers);

    expect(offered).toMatchObject({
      servers: [{ name: "far", url: expect.stringMatching(/^http:\/\/sandbox-1\/mcp\/[\w-]{32}\/far$/) }],
    });
    expect(shown).toMatchObject({ mcpServers: servers });
    expect(mcpServers).toMatchObject([{ name: "far", run: "address" }]);
    expect(warnings).toEqual([]);
  });

  it("gets none without a sandbox, and is told so", async () => {
    await using setting = await setUp({ mcp: { one: {} }, args: { kiroHarness: "v3", sandbox: false } });

    const { offered, warnings } = await setting.turn({ one: { command: "x" } });

    expect(offered).toBeUndefined();
    expect(warnings).toEqual([expect.stringContaining("did not get the MCP servers one, since without a sandbox")]);
  });
});
