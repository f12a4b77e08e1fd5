import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { createOwner, type EgressPolicy } from "@budgie/core";
import { createDockerRunner } from "../../../runner-docker/src/index.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createServerSandboxes } from "../../src/connections/server-sandboxes.ts";
import { createMcpManager, formatEvent, parseServers } from "../../src/index.ts";
import { listTracesBelow, openEngine } from "../../../cli/test/helpers/engine.ts";
import { TEST_IMAGE } from "../../../cli/test/helpers/start-budgie.ts";
import { toShellServer } from "../serving/shell-server.ts";

const SECRET = "canary 'of' \"a\" $server\\n\n and a line\n";

/** Starts the shell server in a container, and returns a function that runs scripts in it. */
async function openServer({ egress = { mode: "allowlist", hosts: [] } }: { readonly egress?: EgressPolicy } = {}) {
  const stateDir = mkdtempSync(join(tmpdir(), "budgie-mcp-"));
  const owner = createOwner({ stateDir });
  const runner = await createDockerRunner({
    image: TEST_IMAGE,
    owner,
    stateDir,
    home: homedir(),
    keepSessionsMs: 3_600_000,
  });
  const sandboxes = createServerSandboxes(async () => runner, stateDir);
  const content = { mcpServers: { shell: { ...toShellServer(), env: { KEY: SECRET, OTHER: "" } } } };
  const { servers } = parseServers({ agent: { file: "agent.json", content } });
  const events: string[] = [];
  const manager = createMcpManager({
    servers: servers.map((server) => ({ server })),
    connect(server, log) {
      if (server.type === "http") throw new Error("It is a program.");
      return sandboxes.connect(server, { place: { run: "sandbox", image: undefined, egress }, log });
    },
    client: { name: "test", version: "1" },
    onEvent: (event) => void events.push(formatEvent(event)),
  });
  return {
    events,
    logs: () => manager.logs("shell"),
    traces: () => listTracesBelow(stateDir),
    async run(script: string): Promise<string> {
      const { content: parts } = await manager.call("shell", { name: "sh", arguments: { script } });
      return String(parts[0]?.["text"]);
    },
    stop: () => manager[Symbol.asyncDispose](),
    async [Symbol.asyncDispose]() {
      await manager[Symbol.asyncDispose]();
      await sandboxes[Symbol.asyncDispose]();
      await runner.close();
      await owner.release();
      rmSync(stateDir, { recursive: true });
    },
  };
}

describe("a server in a container", () => {
  let server: Awaited<ReturnType<typeof openServer>>;
  beforeAll(async () => void (server = await openServer()));
  afterAll(() => server[Symbol.asyncDispose]());

  it("has its variables, which neither the engine nor a list of processes shows", async () => {
    const seen = await server.run('printf %s "$KEY"; printf \'|%s|\' "${OTHER-unset}"; env | grep -c budgie_');
    const docker = await openEngine();
    const names = (await server.traces()).filter((name) => name.startsWith("/"));
    const facts = await Promise.all(names.map((name) => docker.getContainer(name.slice(1)).inspect()));
    const { Processes } = await docker.getContainer((names.find((name) => name.includes("turn")) ?? "").slice(1)).top();

    expect(seen).toBe(`${SECRET}||0\n`);
    expect(names).toHaveLength(2);
    expect(Processes.flat()).toContainEqual(expect.stringContaining("node -e"));
    expect(JSON.stringify([facts, Processes]).includes("canary")).toBe(false);
  });

  it("has a home of its own and no workspace", async () => {
    expect(await server.run("ls -A /workspace; touch /workspace/x")).toMatch(/^touch: .*Read-only file system\n$/);
    expect(await server.run("cd && pwd && echo kept >note")).toBe("/home/agent\n");
  });

  it("reaches no host unless it is allowed, and what it is denied is logged", async () => {
    expect(await server.run("ls /sys/class/net")).toBe("lo\n");
    const request = "CONNECT refused.test:443 HTTP/1.1\\r\\nHost: refused.test:443\\r\\n\\r\\n";
    const dial = `exec 3<>/dev/tcp/127.0.0.1/3128; printf "${request}" >&3; head -n 1 <&3`;

    expect(await server.run(`bash -c '${dial}'`)).toMatch(/^HTTP\/1.1 403 /);
  });

  it("is started once more with the same home if it ends, and then no more", async () => {
    await expect(server.run("kill -9 $PPID")).rejects.toThrow("it ended. It may have done part of the work.");
    expect(await server.run("cat ~/note")).toBe("kept\n");
    await expect(server.run("kill -9 $PPID")).rejects.toThrow("it ended.");
    await expect(server.run("true")).rejects.toThrow("it was ended by SIGKILL");

    expect(server.events).toEqual([
      "shell: starting",
      "shell: 1 tool",
      "shell: it was ended by SIGKILL; starting it again",
      "shell: starting",
      "shell: 1 tool",
      "shell: it was ended by SIGKILL",
    ]);
    expect(server.logs()).toContain("It was refused refused.test:443: not on the allow-list.");
  });
});

it("a server reaches an allowed host by the forwarder in its own container, and can replace nothing on that way", async () => {
  const web = createServer((_, response) => response.end("from the web")).listen(0, "127.0.0.1");
  await once(web, "listening");
  const { port } = web.address() as AddressInfo;
  const allowed = { host: "allowed.test", port, address: "127.0.0.1", from: "the test" };
  await using server = await openServer({ egress: { mode: "allowlist", hosts: [allowed] } });

  const got = await server.run(`curl -sS http://allowed.test:${port}/`);
  const changes =
    'for change in "rm s" "mv forwarder x" "cp /bin/sh forwarder" "touch new"; do $change; done 2>/dev/null';
  const changed = await server.run(`cd /run/budgie; ${changes}; ls`);
  web.close();

  expect(got).toBe("from the web");
  expect(changed).toBe("forwarder\ns\n");
});

it("a server's container and home are gone once it is not needed any more, and no budgie keeps them", async () => {
  const server = await openServer();
  await server.run("true");
  const traces = await server.traces();
  expect(traces).toHaveLength(4);
  const volumes = traces.filter((name) => !name.startsWith("/"));
  const docker = await openEngine();
  const labels = await Promise.all(volumes.map(async (name) => (await docker.getVolume(name).inspect()).Labels));
  // By this label, garbage collection would keep the home of a killed budgie's server.
  expect(labels.filter((own) => "dev.budgie.keep-ms" in own)).toEqual([]);

  await server[Symbol.asyncDispose]();

  expect(await server.traces()).toEqual([]);
});
