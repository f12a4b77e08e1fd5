import { join } from "node:path";
import { startMockServer } from "@budgie/testkit";
import { describe, expect, it } from "vitest";
import { runCli } from "../../../src/run-cli.ts";
import { toSilentHost } from "../../helpers/to-silent-host.ts";
import { createInstallUser } from "../install/create-install-user.ts";
import { allow, allowAtTerminal, setUp } from "./set-up-mcp.ts";

describe("budgie mcp ls", () => {
  it("says which tools differ from the approved ones", async () => {
    await using far = await startMockServer();
    using user = createInstallUser();
    const config = allow({ far: { toolsHash: `sha256:${"0".repeat(64)}` } });
    const run = setUp(user, { agent: { mcpServers: { far: { url: far.url } } }, config });

    expect((await run(["ls"])).stdout).toMatch(/far +ready .*" +its tools differ from the approved ones\n/);
    expect(JSON.parse((await run(["ls", "--json"])).stdout)).toMatchObject([{ state: "ready", toolsChanged: true }]);
  });

  it("says that a variable is not listed, without its value", async () => {
    await using server = await startMockServer();
    using user = createInstallUser();
    const agent = { mcpServers: { far: { url: server.url, headers: { "x-key": "$KEY" } } } };
    const env = { KEY: "canary" };
    const list = async (section: object): Promise<{ readonly stdout: string }> => {
      const run = setUp(user, { agent, config: allow({ far: { run: "host", ...section } }) });
      await allowAtTerminal(user, ["far"]);
      return run(["ls"], env);
    };
    const refused = await list({});
    const allowed = await list({ env: ["KEY"] });

    expect(refused.stdout).toMatch(/broken.*asks for the variable KEY, which it may not have/);
    expect(allowed.stdout).toMatch(/ready/);
    expect(`${refused.stdout}${allowed.stdout}`).not.toContain("canary");
    expect(server.requests[0]?.headers).toHaveProperty("x-key", "canary");
  });

  it("says of a program on a cluster that no container is there for it", async () => {
    await using far = await startMockServer();
    using user = createInstallUser();
    const mcpServers = { here: { command: "npx" }, far: { url: far.url } };
    const run = setUp(user, { agent: { mcpServers }, config: allow({ here: {}, far: {} }) });

    const { stdout } = await run(["ls", "--runner", "kubernetes"]);

    expect(stdout).toMatch(/here +broken .*on a cluster no server has a container of its own\. Set "run": "host"/);
    expect(stdout).toMatch(/far +ready /);
  });

  it("runs four servers at most at once, since each is a process, or a container", async () => {
    await using far = await startMockServer();
    using user = createInstallUser();
    const names = ["one", "two", "three", "four", "five", "six"];
    const mcpServers = Object.fromEntries(names.map((name) => [name, { url: far.url }]));
    const config = allow(Object.fromEntries(names.map((name) => [name, {}])));
    const run = setUp(user, { agent: { mcpServers }, config });
    let most = 0;
    const watching = setInterval(() => (most = Math.max(most, far.sessions())), 1);

    const { stdout } = await run(["ls", "--json"]);

    clearInterval(watching);
    expect(JSON.parse(stdout)).toMatchObject(names.map((name) => ({ name, state: "ready" })));
    expect(most).toBe(4);
  });

  it("says what a section lacks that refuses other tools than the approved ones", async () => {
    using user = createInstallUser();
    const mcpServers = { far: { url: "https://x.test/mcp" } };
    const run = setUp(user, { agent: { mcpServers }, config: allow({ far: { refuseOtherTools: true } }) });

    expect((await run(["ls"])).stdout).toMatch(/far +broken .*"refuseOtherTools" needs "toolsHash"/);
  });

  it("reports the files of agents that cannot be read, and nothing else about agents", async () => {
    using user = createInstallUser();
    setUp(user, { agent: {} });
    user.write(join(user.home, ".kiro/agents/broken.json"), "{");
    const reports: string[] = [];
    const report = (line: string): void => void reports.push(line);

    await runCli(["mcp", "ls"], toSilentHost({ home: user.home, cwd: user.project, report }));

    expect(reports).toEqual([expect.stringContaining("broken.json")]);
  });
});
