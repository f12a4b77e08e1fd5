import { EventEmitter } from "node:events";
import { join } from "node:path";
import { startMockServer } from "@budgie/testkit";
import { describe, expect, it } from "vitest";
import { runCli } from "../../../src/run-cli.ts";
import { toSilentHost } from "../../helpers/to-silent-host.ts";
import { createInstallUser } from "../install/create-install-user.ts";
import { allow, setUp } from "./set-up-mcp.ts";

const WAITS = { tools: [{ name: "wait", does: { kind: "wait" as const, ms: 600_000 } }] };
const SILENT = { silentAt: "tools/list" };

describe("Ctrl-C", () => {
  it.each([
    { args: ["call", "far", "wait", "--agent", "coder"], options: WAITS, requests: 4 },
    { args: ["tools", "far", "--agent", "coder"], options: SILENT, requests: 3 },
    // An agent earlier in the list has another server of this name, which has ended by then.
    { args: ["ls"], options: SILENT, requests: 3 },
  ])("has budgie mcp end its servers, and exit with 130: $args", async ({ args, options, requests }) => {
    await using first = await startMockServer();
    await using far = await startMockServer(options);
    using user = createInstallUser();
    setUp(user, { agent: { mcpServers: { far: { url: far.url } } }, config: allow({ far: {} }) });
    const before = { name: "before", description: "sub-agent: Codes.", mcpServers: { far: { url: first.url } } };
    user.write(join(user.home, ".kiro/agents/before.json"), JSON.stringify(before));
    const events = new EventEmitter();
    const reports: string[] = [];
    const report = (line: string): void => void reports.push(line);
    const exited = new Promise((resolve) => {
      const exit = (code: number): void => resolve({ code, sessions: far.sessions(), reports });
      const host = toSilentHost({ home: user.home, cwd: user.project, events, report, exit });
      const argv = ["mcp", ...args, "--allow-mcp", "far", "--config", join(user.project, "budgie.json")];
      void runCli(argv, host);
    });
    await expect.poll(() => far.requests.filter(({ method }) => method === "POST").length).toBe(requests);

    events.emit("SIGINT");

    expect(await exited).toEqual({ code: 130, sessions: 0, reports: [] });
  });

  it("is waited for by budgie doctor once, however many servers it starts", async () => {
    await using far = await startMockServer();
    using user = createInstallUser();
    setUp(user, { agent: { mcpServers: { far: { url: far.url } } }, config: allow({ far: {} }) });
    const events = new EventEmitter();
    const host = toSilentHost({
      env: { DOCKER_HOST: "unix:///no/engine" },
      home: user.home,
      cwd: user.project,
      events,
    });

    await runCli(["doctor", "--config", join(user.project, "budgie.json")], host);

    expect(events.listenerCount("SIGINT")).toBe(1);
  });
});
