import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { toShellServer } from "../../../../mcp-manager/test/serving/shell-server.ts";
import { allowAll } from "../../helpers/allow-servers.ts";
import { listTraces, openEngine } from "../../helpers/engine.ts";
import {
  createBudgieUser,
  TEST_IMAGE,
  toEngineVariables,
  waitFor,
  type BudgieUser,
} from "../../helpers/start-budgie.ts";

const ENV = { ...toEngineVariables(), KEY: "canary" };

/** Writes an agent whose file names the shell server, and returns the arguments of `budgie mcp`. */
function setUp({ host, workspace }: BudgieUser) {
  const shell = { ...toShellServer(), env: { KEY: "<$KEY>" } };
  const agent = { name: "coder", description: "sub-agent: Codes.", mcpServers: { shell } };
  mkdirSync(join(host.home, ".kiro/agents"), { recursive: true });
  writeFileSync(join(host.home, ".kiro/agents/coder.json"), JSON.stringify(agent));
  const config = join(workspace, "budgie.json");
  writeFileSync(config, JSON.stringify({ agents: { coder: { mcp: { shell: { env: ["KEY"] } } } } }));
  allowAll(host.home, config);
  const rest = ["--config", config, "--sandbox-image", TEST_IMAGE];
  return (command: string, ...args: string[]): string[] => ["mcp", command, ...args, ...rest];
}

const toCall = (script: string): [string, string, string] => ["shell", "sh", JSON.stringify({ script })];

const isAsleep = ({ Processes }: { readonly Processes: readonly (readonly string[])[] }): boolean =>
  Processes.flat().some((word) => word.startsWith("sleep 600"));

describe("budgie mcp and a server in a container", () => {
  it("calls a tool of it, shows where it runs, and leaves nothing on the engine", async () => {
    await using user = await createBudgieUser();
    const mcp = setUp(user);

    const called = await user.command(mcp("call", ...toCall('echo "$KEY" "$PWD"')), ENV);
    const listed = await user.command(mcp("ls"), ENV);
    const logged = await user.command(mcp("logs", "shell"), ENV);

    expect(called).toEqual({ exitCode: 0, signal: null, stdout: "<canary> /workspace\n\n", stderr: "" });
    expect(listed.stdout).toMatch(/^coder +shell +ready +sandbox +1 /m);
    expect(logged.stdout).toMatch(/^Its container has no network, since its section allows no host\./);
    expect(await listTraces(user)).toEqual([]);
  });

  it("leaves a container to budgie gc when it is killed, whose server has ended by then", async () => {
    await using user = await createBudgieUser();
    const mcp = setUp(user);
    const child = user.launch(mcp("call", ...toCall("sleep 600")), ENV);
    const docker = await openEngine();
    const findServer = async () => (await listTraces(user)).find((name) => name.includes("budgie-turn-"))?.slice(1);
    const container = docker.getContainer(await waitFor(findServer));
    await waitFor(() => container.top().then(isAsleep, () => false));

    child.kill("SIGKILL");
    await container.wait();
    const { exitCode } = await user.run(["gc"], ENV);

    expect(exitCode).toBe(0);
    expect(await listTraces(user)).toEqual([]);
  });
});
