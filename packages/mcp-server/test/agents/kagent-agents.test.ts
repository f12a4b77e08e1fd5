import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startKagentServer, startScriptedServer, type KagentServer } from "@budgie/testkit";
import { createAgentCatalog, catalogOptions } from "../../src/agents/agent-catalog.ts";
import { createKagentAgents, withPresentAgents, type KagentAgents } from "../../src/agents/kagent-agents.ts";
import { loadTools } from "../../src/agents/load-tools.ts";
import { parseConfig } from "../../../cli/src/config/config.ts";
import { toSilentHost } from "../../../cli/test/helpers/to-silent-host.ts";

let server: KagentServer;
let opened: KagentAgents[];
let reported: string[];
beforeEach(() => {
  [opened, reported] = [[], []];
});
afterEach(async () => {
  for (const kagent of opened) kagent.close();
  await server[Symbol.asyncDispose]();
});

const HEADERS = { authorization: "Bearer $TOKEN" };

function open({ env = { TOKEN: "t0ken" } as NodeJS.ProcessEnv, url = server.url } = {}): KagentAgents {
  const section = { url, headers: HEADERS, allowRemote: true };
  const kagent = createKagentAgents(section, {
    env,
    intervalMs: 10,
    waitMs: 20_000,
    report: (line) => void reported.push(line),
  });
  opened.push(kagent);
  return kagent;
}

const namesOf = (kagent: KagentAgents): readonly string[] => kagent.agents().map(({ name }) => name);

describe.each(["0.10", "1.0"] as const)("the agents of kagent %s", (version) => {
  beforeEach(async () => {
    server = await startKagentServer({
      kagent: version,
      agents: [{ name: "k8s", description: "Knows pods" }],
      authorization: "Bearer t0ken",
    });
  });

  it("are there after the start, at their addresses, and hold no secret", async () => {
    const kagent = open();

    await kagent.start();

    expect(kagent.agents()).toMatchObject([
      {
        name: "kagent.k8s",
        description: expect.stringContaining("Knows pods"),
        remote: { url: server.agentUrl("k8s"), headers: HEADERS },
      },
    ]);
  });

  it("come and go, and those that have not changed are the same objects", async () => {
    const kagent = open();
    await kagent.start();
    const [first] = kagent.agents();

    server.list([{ name: "k8s", description: "Knows pods" }, { name: "helm" }]);
    await expect.poll(() => namesOf(kagent)).toEqual(["kagent.helm", "kagent.k8s"]);
    expect(kagent.agents()[1]).toBe(first);

    server.list([
      { name: "k8s", ready: false },
      { name: "helm", accepted: false },
    ]);
    await expect.poll(() => namesOf(kagent)).toEqual([]);
  });

  it("are tools that clients are told of when they come and go", async () => {
    const folder = mkdtempSync(join(tmpdir(), "budgie-kagent-"));
    const host = toSilentHost({ cwd: folder, home: folder });
    const kagent = open();
    await kagent.start();
    const config = withPresentAgents(parseConfig({}, host), kagent);
    const catalog = createAgentCatalog(catalogOptions(loadTools(config, host), config, host));
    expect(catalog.tools().map(({ definition }) => definition.name)).toContain("kiro-subagents.kagent-k8s");
    expect(catalog.settle()).toBe(false);

    server.list([]);
    await expect.poll(() => catalog.settle()).toBe(true);

    expect(catalog.tools().map(({ definition }) => definition.name)).toEqual(["kiro-subagents.health-check"]);
    rmSync(folder, { recursive: true });
  });

  it("stay as they were while the backend is dead, which is reported once", async () => {
    let isDead = false;
    let asked = 0;
    const entry = { agent: { metadata: { name: "k8s", namespace: "kagent" } }, accepted: true, deploymentReady: true };
    await using flaky = await startScriptedServer((_call, response) => {
      asked++;
      if (isDead) response.destroy();
      else response.end(JSON.stringify({ data: [entry] }));
    });
    const kagent = open({ url: flaky.url });
    await kagent.start();

    isDead = true;
    const before = asked;
    await expect.poll(() => asked - before).toBeGreaterThan(5);

    expect(namesOf(kagent)).toEqual(["kagent.k8s"]);
    expect(reported).toEqual([
      expect.stringMatching(/^The agents of kagent stay as they were\. Cannot reach the kagent backend at/),
    ]);
  });

  it("are unknown, and budgie starts all the same, while a variable of the headers is not set", async () => {
    const kagent = open({ env: {} });

    await kagent.start();

    expect(kagent.agents()).toEqual([]);
    expect(reported).toEqual([expect.stringContaining("needs TOKEN")]);
  });

  it("do not keep budgie from its start when the backend does not answer", async () => {
    await using mute = await startScriptedServer(() => undefined);
    const section = { url: mute.url, headers: {}, allowRemote: true };
    const kagent = createKagentAgents(section, { env: {}, waitMs: 10, report: (line) => void reported.push(line) });
    opened.push(kagent);

    await kagent.start();

    expect(kagent.agents()).toEqual([]);
    expect(reported).toEqual([]);
  });

  it("may have settings before the backend answers, also when it stays away", () => {
    const folder = mkdtempSync(join(tmpdir(), "budgie-kagent-"));
    const host = toSilentHost({ cwd: folder, home: folder, report: (line) => void reported.push(line) });
    const file = join(folder, "budgie.json");
    const agents = { "kagent.k8s": { timeout: "5m" } };
    writeFileSync(file, JSON.stringify({ kagent: { url: server.url }, agents }));
    const options = { config: file, maxTurnsPerMinute: ["kagent.k8s=5"] };

    const { tools } = loadTools(withPresentAgents(parseConfig(options, host), open()), host);

    expect(tools).toHaveLength(1);
    expect(reported).toContainEqual(
      expect.stringMatching(/^The agent "kagent\.k8s", which has settings, is not there/),
    );
    rmSync(folder, { recursive: true });
  });
});
