// Compares tool calls by the SDK's client alone with those through budgie: through its manager and endpoint, and from a sandbox to a server
// in a container of its own. Also compares first turns of agents with and without a server, and counts the containers that it adds.
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { homedir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { createOwner, createSessionId } from "../../packages/core/dist/index.js";
import { connectOnHost, createMcpEndpoint, createMcpManager } from "../../packages/mcp-manager/dist/index.js";
import { createServerSandboxes } from "../../packages/mcp-manager/dist/connections/server-sandboxes.js";
import { createDockerRunner } from "../../packages/runner-docker/dist/index.js";
import { serveOnLoopback } from "../../packages/testkit/dist/serve-on-loopback.js";
import { IMAGE, PROMPT, SANDBOX, withPlace } from "./lib/bench-place.mjs";
import { openEngineProxy } from "./lib/engine-proxy.mjs";
import { interleave, median } from "./lib/interleave.mjs";
import { NODE, startMeasuringTurn } from "./lib/measuring-turn.mjs";
import { toFigure, toRows } from "./lib/table.mjs";

const ADDED_MS_LIMIT = 5;
const STARTS_LIMIT = 1;
// Calls of each side in each round.
const CALLS = 50;

const DIRECT = "tool call";
const MANAGED = "tool call, endpoint";
const SANDBOXED = "tool call, sandboxed";
const PLAIN = "first turn";
const SERVED = "first turn, server";
const AGENTS = { [PLAIN]: "plain", [SERVED]: "served" };

const ECHO = new URL("lib/mcp-echo.cjs", import.meta.url);
const CLIENT = new URL("lib/mcp-client.cjs", import.meta.url);
const INFO = { name: "bench", version: "1" };
const NO_NETWORK = { mode: "none", hosts: [] };

export const measureMcp = (rounds) =>
  withPlace(async (place) => {
    const program = await readFile(ECHO, "utf8");
    const calls = await interleave(await openSides(place, program), rounds);
    await writeAgents(place, program);
    const server = await place.startServer(toFlags());
    const turns = Object.entries(AGENTS).map(([title, agent]) => [title, () => server.ask(agent, { prompt: PROMPT })]);
    const times = await interleave(Object.fromEntries(turns), rounds);
    return toResult(calls, times, await countStarts(place));
  });

async function openSides(place, program) {
  const direct = await connect(
    place,
    new StdioClientTransport({ command: process.execPath, args: ["-e", program], stderr: "ignore" }),
  );
  const managed = await openManaged(place, program);
  const sandboxed = await openSandboxed(place, program);
  return {
    [DIRECT]: () => measureCalls(direct),
    [MANAGED]: () => measureCalls(managed),
    [SANDBOXED]: () => sandboxed.measure({ count: CALLS }),
  };
}

/** Connects the SDK's client to budgie's endpoint of a server that runs on this machine. */
async function openManaged(place, program) {
  const onHost = connectOnHost({ env: process.env, cwd: place.directory });
  const endpoint = await openEndpoint(place, { command: process.execPath, program, connect: onHost });
  const http = await serveOnLoopback(createServer(endpoint.answer));
  place.atEnd(() => http[Symbol.asyncDispose]());
  const url = new URL(`http://127.0.0.1:${http.port}${endpoint.pathOf("echo")}`);
  return connect(place, new StreamableHTTPClientTransport(url));
}

/** Starts a client in a sandbox that reaches the same server in a container of its own, as an agent does. */
async function openSandboxed({ atEnd, directory, host }, program) {
  const stateDir = join(host.home, ".kiro", "bench");
  const owner = createOwner({ stateDir });
  atEnd(() => owner.release());
  const runner = await createDockerRunner({ image: IMAGE, home: homedir(), hostEnv: process.env, owner, stateDir });
  atEnd(() => runner.close());
  const sandboxes = createServerSandboxes(async () => runner, stateDir);
  atEnd(() => sandboxes[Symbol.asyncDispose]());
  const place = { run: "sandbox", image: undefined, egress: NO_NETWORK };
  const inSandbox = (server, log) => sandboxes.connect(server, { place, log });
  const endpoint = await openEndpoint({ atEnd }, { command: NODE, program, connect: inSandbox });
  const session = await runner.openSession(createSessionId());
  const address = session.serve({ answer: endpoint.answer, [Symbol.asyncDispose]: async () => undefined });
  const given = { url: address + endpoint.pathOf("echo") };
  const turn = await startMeasuringTurn({ session, directory, egress: NO_NETWORK, program: CLIENT, given });
  atEnd(() => turn.stop());
  return turn;
}

async function openEndpoint({ atEnd }, { command, connect: reach, program }) {
  const server = {
    name: "echo",
    type: "stdio",
    command,
    args: ["-e", program],
    env: {},
    timeoutMs: 60_000,
    disabled: false,
    disabledTools: [],
    from: "",
  };
  const manager = createMcpManager({ servers: [{ server }], connect: reach, client: INFO });
  atEnd(() => manager[Symbol.asyncDispose]());
  const endpoint = createMcpEndpoint({ manager, servers: ["echo"], version: "1" });
  atEnd(() => endpoint[Symbol.asyncDispose]());
  await manager.tools("echo");
  return endpoint;
}

async function connect({ atEnd }, transport) {
  const client = new Client(INFO);
  await client.connect(transport);
  atEnd(() => client.close());
  return client;
}

async function measureCalls(client) {
  const times = [];
  for (let call = 0; call < CALLS; call++) {
    const began = performance.now();
    await client.callTool({ name: "echo", arguments: { text: "canary" } });
    times.push(performance.now() - began);
  }
  return times;
}

async function writeAgents({ host }, program) {
  const echo = { command: NODE, args: ["-e", program] };
  for (const [name, mcpServers] of Object.entries({ plain: {}, served: { echo } })) {
    const agent = { name, description: "sub-agent: Is measured.", tools: ["*"], mcpServers };
    await writeFile(join(host.agentsDir, `${name}.json`), JSON.stringify(agent));
  }
}

function toFlags() {
  return [...SANDBOX, "--allow-mcp", "echo"];
}

const START = /^POST \S*\/containers\/([^/]+)\/start/;

/** Returns the number of additional containers that a first turn with a server starts. */
async function countStarts(place) {
  const started = new Set();
  const proxy = await openEngineProxy(place.engine, (client, engine) => {
    client.on("data", (chunk) => {
      const [, id] = START.exec(chunk.toString("latin1", 0, 4096)) ?? [];
      if (id !== undefined) started.add(id);
      engine.write(chunk);
    });
    engine.on("data", (chunk) => client.write(chunk));
  });
  place.atEnd(() => proxy.close());
  // Containers that are made ahead would be counted too.
  const server = await place.startServer([...toFlags(), "--ahead", "0"], { dockerHost: proxy.url });
  const counts = [];
  for (const agent of Object.values(AGENTS)) {
    started.clear();
    const { mcpServers = [] } = await server.ask(agent, { prompt: PROMPT });
    if (mcpServers.some(({ state }) => state !== "ready")) throw new Error(JSON.stringify(mcpServers));
    counts.push(started.size);
  }
  return counts[1] - counts[0];
}

function toResult(calls, turns, starts) {
  const base = median(calls.get(DIRECT));
  const added = [MANAGED, SANDBOXED].map((title) =>
    toFigure(title.replace(DIRECT, "added"), median(calls.get(title)) - base, "ms"),
  );
  const rows = [
    ...toRows(calls, () => DIRECT),
    ...added,
    ...toRows(turns, () => PLAIN),
    { title: "started by it", unit: "container", median: starts },
  ];
  const slow = added.filter((row) => row.median >= ADDED_MS_LIMIT).map((row) => `${row.title}: ${row.median} ms`);
  return { rows, over: [...slow, ...(starts > STARTS_LIMIT ? [`a server starts ${starts} containers`] : [])] };
}
