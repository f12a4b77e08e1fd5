import { join } from "node:path";
import { startAuthorizationServer, startMockServer } from "@budgie/testkit";
import { describe, expect, it } from "vitest";
import { createInstallUser } from "../install/create-install-user.ts";
import { allow, setUp } from "../mcp/set-up-mcp.ts";

type Found = { readonly state: string; readonly what: string; readonly text: string; readonly todo?: string };

/** Runs `budgie doctor` for an agent whose file names servers. Returns its findings about them. */
async function inspect(mcpServers: object, mcp: object, args: readonly string[] = []): Promise<readonly object[]> {
  using user = createInstallUser();
  setUp(user, { agent: { mcpServers }, config: allow(mcp) });
  const { stdout } = await user.run(["doctor", "--json", "--config", join(user.project, "budgie.json"), ...args]);
  const { findings } = JSON.parse(stdout) as { readonly findings: readonly Found[] };
  return findings.filter(({ what }) => what === "mcp").map(({ state, text, todo }) => ({ state, text, todo }));
}

describe("budgie doctor with MCP servers", () => {
  it("has a line for each that is allowed, with what to do for a login", async () => {
    await using authorization = await startAuthorizationServer();
    await using closed = await startMockServer({ authorization });
    await using open = await startMockServer({ tools: [{ name: "echo" }, { name: "other" }] });
    const gone = await startMockServer();
    await gone[Symbol.asyncDispose]();
    const servers = {
      open: { url: open.url },
      closed: { url: closed.url },
      gone: { url: gone.url },
      wrong: { url: "http://example.com" },
    };

    expect(await inspect(servers, { open: { tools: ["echo"] }, closed: {}, gone: {}, wrong: {}, typo: {} })).toEqual([
      { state: "ok", text: 'coder: "open" has 1 tool, at an address' },
      { state: "note", text: `coder: "typo" is allowed, and the agent's file does not name it` },
      { state: "failed", text: 'coder: "closed" wants a login', todo: "budgie mcp login closed --agent coder" },
      { state: "failed", text: 'coder: "gone" cannot be used: it cannot be reached (ECONNREFUSED)' },
      { state: "failed", text: expect.stringMatching(/^coder: "wrong" is not started: .*https/) },
    ]);
  });

  it("says of one that works what keeps it from being used as it was meant", async () => {
    await using far = await startMockServer();
    const servers = { far: { url: far.url } };
    const has = 'coder: "far" has 0 tools, at an address';

    expect(await inspect(servers, { far: { toolsHash: `sha256:${"0".repeat(64)}` } })).toEqual([
      { state: "note", text: `${has}, and they differ from the approved ones` },
    ]);
    expect(await inspect(servers, { far: {} }, ["--sandbox", "--egress", "bridge"])).toEqual([
      { state: "note", text: `${has}, and with the egress mode "bridge" the agent does not get it` },
    ]);
  });

  it("lists what waits to be allowed, with the command that does so", async () => {
    await using server = await startMockServer();
    const servers = { far: { url: server.url, headers: { "x-key": "canary" } }, here: { command: "x" } };
    const toCommand = (name: string): unknown =>
      expect.stringMatching(new RegExp(`^budgie mcp allow ${name} --agent coder --config /`));

    expect(await inspect(servers, { far: {}, here: { run: "host" } })).toEqual([
      {
        state: "failed",
        text: expect.stringMatching(/^coder: "far" is not started: it has variables or headers, and its entry is new/),
        todo: toCommand("far"),
      },
      { state: "failed", text: expect.stringContaining("it runs on this machine"), todo: toCommand("here") },
    ]);
    expect(server.requests).toEqual([]);
  });

  it("starts none that is not allowed, and says so", async () => {
    await using server = await startMockServer();
    const servers = { far: { url: server.url }, off: { url: server.url, disabled: true }, wrong: {} };

    expect(await inspect(servers, { off: {} })).toEqual([
      { state: "note", text: expect.stringMatching(/^coder: "far" is not started: it is not allowed\. /) },
      { state: "note", text: 'coder: "off" is not started: its entry says so.' },
      { state: "note", text: expect.stringMatching(/^coder: "wrong" is not started: Expected /) },
    ]);
    expect(server.requests).toEqual([]);
  });
});
