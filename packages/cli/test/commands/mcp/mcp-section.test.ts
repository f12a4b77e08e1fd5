import { join } from "node:path";
import { startMockServer } from "@budgie/testkit";
import { describe, expect, it } from "vitest";
import { createInstallUser } from "../install/create-install-user.ts";
import { allow, setUp } from "./set-up-mcp.ts";

describe("the configuration of MCP servers", () => {
  it.each<[object, string]>([
    [{ run: "vm" }, '"agents.coder.mcp.far.run" in "<file>" to be "sandbox" or "host".'],
    [{ run: "host", image: "x" }, 'unknown in "agents.coder.mcp.far": "image"'],
    [{ run: "host", egress: "none" }, 'unknown in "agents.coder.mcp.far": "egress"'],
    [{ run: "host", env: ["A=1"] }, '"agents.coder.mcp.far.env.0" in "<file>" to be the name of a variable.'],
    [{ run: "host", toolsHash: "1" }, `to be a hash as "budgie mcp tools" prints it.`],
  ])("accepts nothing that does not work: %j", async (section, message) => {
    using user = createInstallUser();
    const run = setUp(user, { agent: {}, config: allow({ far: section }) });

    const expected = message.replace("<file>", join(user.project, "budgie.json"));
    await expect(run(["ls"])).rejects.toThrow(expected);
  });

  it.each<[object, string]>([
    [
      { egress: "none" },
      'The MCP server "far" is an address, which needs no container: take "egress" out of its section.',
    ],
    [{ image: "x" }, 'The MCP server "far" is an address, which needs no container: take "image" out of its section.'],
  ])("says what nothing would enforce for an address: %j", async (section, error) => {
    using user = createInstallUser();
    const agent = { mcpServers: { far: { url: "https://example.com" } } };

    const { stdout } = await setUp(user, { agent, config: allow({ far: section }) })(["ls", "--json"]);

    expect(JSON.parse(stdout)).toMatchObject([{ name: "far", state: "broken", error }]);
  });

  it("pins the name of an address", async () => {
    await using server = await startMockServer();
    using user = createInstallUser();
    // The server speaks no TLS, so a failed handshake shows that the pinned address was reached.
    const place = new URL(server.url.replace("http://127.0.0.1", "https://inside.test"));
    const config = allow({ far: { allowHost: [`${place.host}=127.0.0.1`] } });

    const { stdout } = await setUp(user, { agent: { mcpServers: { far: { url: place.href } } }, config })([
      "ls",
      "--json",
    ]);

    expect(JSON.parse(stdout)).toMatchObject([
      {
        name: "far",
        state: "error",
        error: expect.stringMatching(/^it cannot be reached \((?:EPROTO|ERR_SSL_\w+)\)$/),
      },
    ]);
  });

  it("says which host of a server is wrong", async () => {
    using user = createInstallUser();
    const agent = { mcpServers: { far: { command: "x" } } };

    const { stdout } = await setUp(user, { agent, config: allow({ far: { allowHost: ["a b"] } }) })(["ls"]);

    expect(stdout).toContain('Cannot allow the host "a b" (the MCP server "far")');
  });

  it("is among the settings that are shown", async () => {
    using user = createInstallUser();
    setUp(user, { agent: {}, config: { mcpRegistry: "r.json", ...allow({ far: { run: "host", tools: ["a"] } }) } });

    const { stdout } = await user.run(["config", "show", "--config", join(user.project, "budgie.json")]);

    expect(stdout).toMatch(/^agents\.coder\.mcp +\{"far":\{"run":"host","tools":\["a"\],"env":\[\]\}\} /m);
    expect(stdout).toMatch(/^mcpRegistry +".*project\/r\.json" /m);
  });
});
