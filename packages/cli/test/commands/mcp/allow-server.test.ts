import { join } from "node:path";
import { startMockServer } from "@budgie/testkit";
import { describe, expect, it } from "vitest";
import { createInstallUser, type InstallUser } from "../install/create-install-user.ts";
import { allow, allowAtTerminal, setUp } from "./set-up-mcp.ts";

const HERE = { command: "npx", args: ["-y", "a b\n\u001b[2J"], env: { KEY: "canary", OTHER: "$TOKEN" } };
const NONE: readonly string[] = [];

function listPins(user: InstallUser): readonly string[] {
  return Object.keys(user.files()).filter((file) => file.endsWith("allowed.json"));
}

describe("budgie mcp allow", () => {
  it("shows what would run, without values, and allows it if the person says so", async () => {
    using user = createInstallUser();
    const config = allow({ here: { run: "host", env: ["TOKEN"] } });
    const run = setUp(user, { agent: { mcpServers: { here: HERE } }, config });

    expect((await run(["ls"])).stdout).toMatch(
      /here +not-allowed .* "budgie mcp allow here --agent coder --config \S+"/,
    );
    const { exitCode, stdout } = await allowAtTerminal(user, ["here"]);

    expect(exitCode).toBe(0);
    expect(stdout.split("\n")).toEqual([
      'The MCP server "here"',
      "  agents       coder",
      `  from         "mcpServers.here" in "${join(user.home, ".kiro/agents/coder.json")}"`,
      "  command      npx",
      String.raw`  arguments    "-y" "a b\n\u001b[2J"`,
      "  variables    KEY, OTHER",
      "  yours to use TOKEN",
      "  runs         on this machine, with your rights",
      `  folder       ${user.home}`,
      "",
      "Allow it until this changes? [y/N] Allowed.",
      "",
    ]);
    // It is past the question.
    expect((await run(["ls"])).stdout).toContain("needs the variable TOKEN, which is not set");
  });

  it.each(["n", "", "yess", "\ny"])("allows nothing if the person answers %j", async (answer) => {
    using user = createInstallUser();
    setUp(user, { agent: { mcpServers: { here: HERE } }, config: allow({ here: { run: "host" } }) });

    const { exitCode, stdout } = await allowAtTerminal(user, ["here"], { answer });

    expect([exitCode, listPins(user)]).toEqual([1, NONE]);
    expect(stdout).toMatch(/Not allowed\.\n$/);
  });

  it("refuses a caller without a terminal", async () => {
    using user = createInstallUser();
    const run = setUp(user, { agent: { mcpServers: { here: HERE } }, config: allow({ here: { run: "host" } }) });

    await expect(run(["allow", "here"])).rejects.toMatchObject({
      code: "INPUT_INVALID",
      message: 'Only a person can allow the MCP server "here": run this command at a terminal, without pipes.',
    });
    expect(listPins(user)).toEqual([]);
  });

  it("allows a server with headers that --allow-mcp names", async () => {
    await using far = await startMockServer();
    using user = createInstallUser();
    const run = setUp(user, { agent: { mcpServers: { far: { url: far.url, headers: { "x-key": "canary" } } } } });
    const args = ["ls", "--allow-mcp", "far"];
    expect((await run(args)).stdout).toContain("not-allowed");
    expect(far.requests).toEqual([]);

    const { stdout } = await allowAtTerminal(user, ["far"]);

    expect(stdout).toContain(`  URL          ${far.url}\n  headers      x-key\n`);
    expect(stdout).not.toContain("canary");
    expect((await run(args)).stdout).toMatch(/far +ready /);
  });

  it("allows one entry for all agents that have it, and wants a choice between different ones", async () => {
    using user = createInstallUser();
    const entry = { ...HERE, env: { KEY: "canary" } };
    const args = ["--allow-mcp", "here"];
    setUp(user, { agent: { mcpServers: { here: entry } } });
    const write = (here: object): void => {
      const second = { name: "tester", description: "sub-agent: Tests.", mcpServers: { here } };
      user.write(join(user.home, ".kiro/agents/tester.json"), JSON.stringify(second));
    };
    write({ ...entry, env: { KEY: "other" } });
    await expect(allowAtTerminal(user, ["here"], { args })).rejects.toThrow(
      'The agents "coder", "tester" have different MCP servers "here". Choose one with --agent.',
    );
    write(entry);

    expect((await allowAtTerminal(user, ["here"], { args })).stdout).toContain("  agents       coder, tester\n");
    expect((await allowAtTerminal(user, ["here"], { args })).stdout).toContain("is allowed, or needs no permission");
  });

  it("refuses a name that no agent's file has", async () => {
    using user = createInstallUser();
    setUp(user, { agent: {} });

    await expect(allowAtTerminal(user, ["far"])).rejects.toThrow(`No agent's file has an MCP server "far".`);
  });
});
