import { join } from "node:path";
import { startMockServer } from "@budgie/testkit";
import { describe, expect, it } from "vitest";
import { runCli } from "../../../src/cli.ts";
import { toSilentHost } from "../../helpers/to-silent-host.ts";
import { createInstallUser } from "../install/create-install-user.ts";
import { allow, setUp } from "./set-up-mcp.ts";

describe("budgie mcp ls", () => {
  it("says which tools differ from the approved ones", async () => {
    await using far = await startMockServer();
    using user = createInstallUser();
    const config = allow({ far: { toolsHash: `sha256:${"0".repeat(64)}` } });
    const run = setUp(user, { agent: { mcpServers: { far: { url: far.url } } }, config });

    expect((await run(["ls"])).stdout).toMatch(/far +ready .*" +its tools differ from the approved ones\n/);
    expect(JSON.parse((await run(["ls", "--json"])).stdout)).toMatchObject([{ state: "ready", toolsChanged: true }]);
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
