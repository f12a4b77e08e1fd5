import { join } from "node:path";
import { startMockServer, type MockServer } from "@budgie/testkit";
import { describe, expect, it } from "vitest";
import { createInstallUser } from "../install/create-install-user.ts";
import { allow, setUp } from "./set-up-mcp.ts";

const TOOLS = [
  { name: "echo", description: "Says it again.\nAnd more." },
  { name: "fail", does: { kind: "fail" as const } },
  { name: "env", does: { kind: "env" as const, names: ["X"] } },
  { name: "odd", does: { kind: "result" as const, result: { content: [{ type: "text", text: "\u001b[31mred" }] } } },
];

function serve(): Promise<MockServer> {
  return startMockServer({ tools: TOOLS });
}

describe("budgie mcp ls", () => {
  it("starts what is allowed, and nothing else", async () => {
    await using yes = await serve();
    await using no = await serve();
    using user = createInstallUser();
    const run = setUp(user, {
      agent: {
        mcpServers: {
          yes: { url: yes.url },
          no: { url: no.url },
          off: { url: yes.url, disabled: true },
          wrong: { url: "http://example.com" },
        },
      },
      config: allow({ yes: {}, off: { run: "host" }, wrong: { run: "host" } }),
    });

    const { exitCode, stdout } = await run(["ls"]);

    const file = join(user.home, ".kiro/agents/coder.json");
    expect(exitCode).toBe(0);
    expect(stdout.split("\n")).toEqual([
      expect.stringMatching(/^AGENT +SERVER +STATE +RUN +TOOLS +FROM$/),
      expect.stringMatching(/^coder +yes +ready +address +4 +"mcpServers.yes" in "/),
      expect.stringMatching(/^coder +no +not-allowed +- +- /),
      expect.stringMatching(/^coder +off +disabled +- +- /),
      expect.stringMatching(/^coder +wrong +broken +- +- .*https, or http on this machine\.$/),
      "",
    ]);
    expect(no.requests).toEqual([]);
    expect(JSON.parse((await run(["ls", "--json"])).stdout)).toContainEqual({
      agent: "coder",
      name: "no",
      state: "not-allowed",
      from: `"mcpServers.no" in "${file}"`,
    });
  });

  it("has the user's settings where the file includes them, and never those of the current folder", async () => {
    using user = createInstallUser();
    const entry = (name: string): string => JSON.stringify({ mcpServers: { [name]: { command: "x" } } });
    user.write(join(user.home, ".kiro/settings/mcp.json"), entry("mine"));
    user.write(join(user.project, ".kiro/settings/mcp.json"), entry("theirs"));
    const names = async (agent: object): Promise<unknown> => {
      const { stdout } = await setUp(user, { agent })(["ls", "--json"]);
      return (JSON.parse(stdout) as { readonly name: string }[]).map(({ name }) => name);
    };

    expect(await names({})).toEqual([]);
    expect(await names({ includeMcpJson: true })).toEqual(["mine"]);
  });

  it("has its own if the user's settings, which its file does not include, are no JSON", async () => {
    using user = createInstallUser();
    user.write(join(user.home, ".kiro/settings/mcp.json"), "{");
    const mcpServers = { own: { command: "x" } };

    expect((await setUp(user, { agent: { mcpServers } })(["ls"])).stdout).toContain("own");
    const including = setUp(user, { agent: { mcpServers, includeMcpJson: true } })(["ls"]);
    await expect(including).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  });

  it("knows entries of a registry's file that the configuration names", async () => {
    await using server = await serve();
    using user = createInstallUser();
    user.write(
      join(user.project, "registry.json"),
      JSON.stringify({ servers: [{ name: "far", remotes: [{ url: server.url }] }] }),
    );
    const agent = { mcpServers: { far: { type: "registry" } } };
    const config = { mcpRegistry: "registry.json", ...allow({ far: { run: "host" } }) };

    expect((await setUp(user, { agent, config })(["ls"])).stdout).toMatch(/far +ready +address +4/);
  });

  it("refuses an agent that is not there", async () => {
    using user = createInstallUser();

    await expect(setUp(user, { agent: {} })(["ls", "--agent", "other"])).rejects.toMatchObject({
      code: "AGENT_NOT_FOUND",
    });
  });
});

describe("budgie mcp tools and call", () => {
  it("print the tools that the configuration and the agent's own list both have, and their hash", async () => {
    await using server = await serve();
    using user = createInstallUser();
    const agent = { tools: ["fs_read", "@far/echo", "@far/env"], mcpServers: { far: { url: server.url } } };
    const run = setUp(user, { agent, config: allow({ far: { run: "host", tools: ["echo", "fail"] } }) });

    expect((await run(["tools", "far"])).stdout).toMatch(/^echo {2}Says it again\.\n\ntoolsHash sha256:[\da-f]{64}\n$/);
    expect(JSON.parse((await run(["tools", "far", "--json"])).stdout)).toMatchObject({
      name: "far",
      tools: [{ name: "echo" }],
    });
    await expect(run(["call", "far", "fail"])).rejects.toThrow(
      'The tool "fail" of the MCP server "far" may not be called.',
    );
  });

  it("have no tool that Kiro would refuse the agent, unless all its tools are trusted", async () => {
    await using server = await serve();
    using user = createInstallUser();
    const agent = { tools: ["*"], allowedTools: ["@far/e*"], mcpServers: { far: { url: server.url } } };
    const run = setUp(user, { agent, config: allow({ far: { run: "host" } }) });
    const list = async (...args: readonly string[]): Promise<readonly string[]> =>
      (await run(["tools", "far", "--agent", "coder", ...args])).stdout.match(/^[a-z]+(?= {2})/gm) ?? [];

    expect(await list()).toEqual(["echo", "env"]);
    expect(await list("--trust-all-tools")).toEqual(["echo", "env", "fail", "odd"]);
    await expect(run(["call", "far", "fail", "--agent", "coder"])).rejects.toThrow("may not be called");
  });

  it("print what a tool returns, and exit with 1 if it failed", async () => {
    await using server = await serve();
    using user = createInstallUser();
    const run = setUp(user, {
      agent: { mcpServers: { far: { url: server.url } } },
      config: allow({ far: { run: "host" } }),
    });

    expect(await run(["call", "far", "echo", '{"a":[1]}'])).toEqual({ exitCode: 0, stdout: '{"a":[1]}\n' });
    expect(await run(["call", "far", "fail"])).toEqual({ exitCode: 1, stdout: "it failed\n" });
    expect(await run(["call", "far", "odd"])).toEqual({ exitCode: 0, stdout: "red\n" });
    expect(JSON.parse((await run(["call", "far", "fail", "--json"])).stdout)).toEqual({
      content: [{ type: "text", text: "it failed" }],
      isError: true,
    });
  });

  it("use a server that --allow-mcp names, and no other", async () => {
    await using server = await serve();
    using user = createInstallUser();
    const run = setUp(user, { agent: { mcpServers: { far: { url: server.url } } } });

    await expect(run(["tools", "far"])).rejects.toThrow(
      /"far" of the agent "coder" cannot be used: it is not allowed\. /,
    );
    await expect(run(["call", "far", "echo", "--allow-mcp", "other"])).rejects.toThrow("it is not allowed");
    expect(server.requests).toEqual([]);
    expect((await run(["call", "far", "echo", "{}", "--allow-mcp", "far"])).stdout).toBe("{}\n");
  });

  it.each(["[]", "5", "{", ""])("refuse arguments that are no object: %j", async (text) => {
    using user = createInstallUser();

    await expect(setUp(user, { agent: {} })(["call", "far", "echo", text])).rejects.toThrow(/object of JSON/);
  });

  it("want an agent where two have different servers of a name", async () => {
    await using one = await serve();
    await using other = await startMockServer({ tools: [{ name: "only" }] });
    using user = createInstallUser();
    const run = setUp(user, { agent: { mcpServers: { far: { url: one.url } } } });
    const second = { name: "tester", description: "sub-agent: Tests.", mcpServers: { far: { url: other.url } } };
    user.write(join(user.home, ".kiro/agents/tester.json"), JSON.stringify(second));
    const args = ["tools", "far", "--allow-mcp", "far"];

    await expect(run(args)).rejects.toThrow(
      'The agents "coder", "tester" have different MCP servers "far". Choose one with --agent.',
    );
    expect((await run([...args, "--agent", "tester"])).stdout).toMatch(/^only /);
    expect((await run(["ls", "--allow-mcp", "far"])).stdout).toMatch(
      /coder +far +ready +address +4 .*\ntester +far +ready +address +1 /,
    );
  });

  it("refuse a name that no agent's file has", async () => {
    using user = createInstallUser();

    await expect(setUp(user, { agent: {} })(["tools", "far"])).rejects.toThrow(
      `No agent's file has an MCP server "far".`,
    );
  });
});

describe("budgie mcp logs", () => {
  it("prints what the server said last, which only the user can read", async () => {
    const does = { kind: "log" as const, count: 2, text: "a\u0007 note" };
    await using server = await startMockServer({ tools: [{ name: "log", does }] });
    using user = createInstallUser();
    const run = setUp(user, {
      agent: { mcpServers: { far: { url: server.url } } },
      config: allow({ far: { run: "host" } }),
    });
    await run(["call", "far", "log"]);

    expect((await run(["logs", "far"])).stdout).toBe("info: a note\ninfo: a note\n");
    expect(JSON.parse((await run(["logs", "far", "--json"])).stdout)).toEqual(["info: a note", "info: a note"]);
    const written = Object.entries(user.files()).filter(([file]) => file.endsWith("far.log"));
    expect(written).toEqual([["home/.local/state/budgie/mcp/far.log", "600 info: a note\ninfo: a note\n"]]);
  });

  it.each(["none", "../far", "/etc/passwd"])("prints nothing for %s", async (name) => {
    using user = createInstallUser();

    await expect(setUp(user, { agent: {} })(["logs", name])).rejects.toMatchObject({ code: "INPUT_INVALID" });
  });
});
