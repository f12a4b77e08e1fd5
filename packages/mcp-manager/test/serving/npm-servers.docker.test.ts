import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { listTraces, openEngine } from "../../../cli/test/helpers/engine.ts";
import { createBudgieUser, toText, type Budgie, type BudgieUser } from "../../../cli/test/helpers/start-budgie.ts";
import { PROGRAMS_IMAGE } from "../../../cli/test/programs/container-place.ts";
import { startCoder, beginSession } from "./start-coder.ts";

const EVERYTHING = fileURLToPath(
  new URL("../../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js", import.meta.url),
);

/** Starts budgie with an agent whose file names servers, all of which are allowed. No sandbox has a network. */
function start(user: BudgieUser, mcpServers: object, section: object = {}): Promise<Budgie> {
  const mcp = Object.fromEntries(Object.keys(mcpServers).map((name) => [name, section]));
  return startCoder(user, { mcpServers, mcp, args: ["--egress", "none"] });
}

const toCall = (tool: string, given: object): string => `[[tool @${tool}: ${JSON.stringify(given)}]]`;

it("Servers of the npm registry are called by an agent from sandboxes of their own, without a network", async () => {
  await using user = await createBudgieUser();
  const budgie = await start(
    user,
    {
      everything: { command: "mcp-server-everything", args: ["stdio"] },
      filesystem: { command: "mcp-server-filesystem", args: ["/home/agent"] },
      memory: { command: "mcp-server-memory", env: { MEMORY_FILE_PATH: "/home/agent/memory.jsonl" } },
    },
    { image: PROGRAMS_IMAGE },
  );
  const sessionId = await beginSession(budgie);
  const path = "/home/agent/note.txt";
  const entity = { name: "budgie", entityType: "bird", observations: ["it is green"] };

  const first = await budgie.ask("coder", {
    prompt: [
      toCall("everything/get-sum", { a: 20, b: 22 }),
      toCall("filesystem/write_file", { path, content: "a note of the server" }),
      toCall("filesystem/read_text_file", { path: "/etc/hostname" }),
      toCall("memory/create_entities", { entities: [entity] }),
      `[[run: ls ${path}; ls /opt]]`,
    ].join(""),
    sessionId,
  });
  const second = await budgie.ask("coder", {
    prompt: toCall("filesystem/read_text_file", { path }) + toCall("memory/search_nodes", { query: "green" }),
    sessionId,
  });
  const docker = await openEngine();
  const containers = (await listTraces(user)).filter((name) => name.startsWith("/budgie-"));
  // The last turn's container is removed after its answer.
  const looks = await Promise.allSettled(containers.map((name) => docker.getContainer(name.slice(1)).inspect()));
  const facts = looks.flatMap((look) => (look.status === "fulfilled" ? look.value : []));

  expect(first.structuredContent).toMatchObject({
    mcpServers: [
      { name: "everything", state: "ready", run: "sandbox", calls: 1, failed: 0 },
      { name: "filesystem", state: "ready", run: "sandbox", calls: 2, failed: 1 },
      { name: "memory", state: "ready", run: "sandbox", calls: 1, failed: 0 },
    ],
  });
  expect(toText(first)).toContain("The sum of 20 and 22 is 42.");
  expect(toText(first)).toContain("Access denied");
  // The agent has neither the server's file nor its program.
  expect(toText(first)).toContain(`cannot access '${path}'`);
  expect(toText(first)).not.toContain("servers");
  expect(toText(second)).toContain("a note of the server");
  expect(toText(second)).toContain("it is green");

  const alone = facts.filter(({ HostConfig }) => HostConfig.NetworkMode === "none");
  const networks = ["none", ...alone.map(({ Id }) => `container:${Id}`)];
  const { Id: id } = await docker.getImage(PROGRAMS_IMAGE).inspect();
  const servers = facts.filter(({ Image }) => Image === id);
  expect(servers).toHaveLength(3);
  for (const { HostConfig } of servers) {
    expect(HostConfig).toMatchObject({ ReadonlyRootfs: true, CapDrop: ["ALL"], Privileged: false });
    expect(networks).toContain(HostConfig.NetworkMode);
  }

  await budgie.client.close();
  await budgie.ended;
  expect(await listTraces(user)).toEqual([]);
});

it("A server of the npm registry is called over HTTP on this machine by an agent that reaches no host itself", async () => {
  await using user = await createBudgieUser();
  await using everything = await startOnHttp();
  const mcpServers = { everything: { url: everything.url } };
  const budgie = await startCoder(user, { mcpServers, mcp: { everything: {} } });
  const sessionId = await beginSession(budgie);

  const answer = await budgie.ask("coder", { prompt: toCall("everything/get-sum", { a: 20, b: 22 }), sessionId });

  expect(answer.structuredContent).toMatchObject({
    mcpServers: [{ name: "everything", state: "ready", run: "address", calls: 1, failed: 0 }],
    egress: {
      allowed: [],
      servers: [{ name: "everything", mode: "allowlist", hosts: [new URL(everything.url).host] }],
    },
  });
  expect(toText(answer)).toContain("The sum of 20 and 22 is 42.");

  const without = await budgie.ask("coder", {
    prompt: toCall("everything/get-sum", { a: 20, b: 22 }),
    sessionId,
    egress: "none",
  });

  expect(without.structuredContent).toMatchObject({ mcpServers: [{ state: "not-launched", calls: 0 }] });
  expect(toText(without)).not.toContain("The sum of 20 and 22 is 42.");
  expect(without.structuredContent?.["warnings"]).toContainEqual(
    expect.stringContaining("The agent did not get the MCP servers everything, since the turn"),
  );
});

async function startOnHttp(): Promise<AsyncDisposable & { readonly url: string }> {
  const free = createServer();
  await once(free.listen(0, "127.0.0.1"), "listening");
  const { port } = free.address() as AddressInfo;
  free.close();
  await once(free, "close");
  const env = { PATH: process.env["PATH"], PORT: String(port) };
  const child = spawn(process.execPath, [EVERYTHING, "streamableHttp"], { env, stdio: ["ignore", "ignore", "pipe"] });
  const exited = once(child, "exit");
  // The server writes to stderr once it listens.
  await once(child.stderr, "data");
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
