// A client of the SDK that its argument names. It reads a server and calls from stdin, makes the calls, and prints the outcomes.
// Each client is a separate process, so that no two versions of an SDK meet.
//
// stdin:  { server: { command, args, env } | { url, token }, calls: [{ name, arguments, resumes?, options? }] }
// stdout: { server, revision?, tools: [name], outcomes: [{ result | error: { code, message }, progress }] }
import { text } from "node:stream/consumers";

const LIMIT_MS = 120_000;

const [sdk] = process.argv.slice(2);
const { calls, server } = JSON.parse(await text(process.stdin));
setTimeout(giveUp, LIMIT_MS).unref();

const { callTool, client, transport } = await (sdk.startsWith("v2-") ? loadSecond() : loadFirst());
await client.connect(transport);
const { tools } = await client.listTools();
const outcomes = [];
for (const call of calls) outcomes.push(await toOutcome(call));
const seen = {
  server: client.getServerVersion(),
  // SDK v1 has no such method.
  revision: client.getNegotiatedProtocolVersion?.(),
  tools: tools.map(({ name }) => name),
  outcomes,
};
// Only the HTTP transport has a session to end.
await transport.terminateSession?.();
await client.close();
process.stdout.write(JSON.stringify(seen));

async function loadFirst() {
  const { Client } = await import(`${sdk}/client/index.js`);
  const { StdioClientTransport } = await import(`${sdk}/client/stdio.js`);
  const { StreamableHTTPClientTransport } = await import(`${sdk}/client/streamableHttp.js`);
  const client = new Client({ name: "interop", version: "1.0.0" });
  return {
    client,
    transport: createTransport(StdioClientTransport, StreamableHTTPClientTransport),
    callTool: (request, options) => client.callTool(request, undefined, options),
  };
}

/** Loads SDK v2. `v2-legacy` starts with "initialize"; `v2-auto` first asks whether the server knows the revision without it. */
async function loadSecond() {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const versionNegotiation = { mode: sdk.replace("v2-", "") };
  const client = new Client({ name: "interop", version: "1.0.0" }, { versionNegotiation });
  return {
    client,
    transport: createTransport(StdioClientTransport, StreamableHTTPClientTransport),
    callTool: (request, options) => client.callTool(request, options),
  };
}

function createTransport(Stdio, Http) {
  if (server.url === undefined) return new Stdio({ ...server, stderr: "inherit" });
  const headers = { Authorization: `Bearer ${server.token}` };
  return new Http(new URL(server.url), { requestInit: { headers } });
}

/** Makes a call, and returns its outcome. A call that `resumes` uses the session of the previous one. */
async function toOutcome({ arguments: input, resumes, name, options = {} }) {
  const progress = [];
  const onprogress = (notification) => progress.push(notification);
  const sessionId = resumes ? outcomes.at(-1).result.structuredContent.sessionId : undefined;
  try {
    const result = await callTool({ name, arguments: { ...input, sessionId } }, { onprogress, ...options });
    return { result, progress };
  } catch ({ code, message }) {
    return { error: { code, message }, progress };
  }
}

function giveUp() {
  process.stderr.write(`Timed out after ${LIMIT_MS} ms.\n`);
  process.exit(1);
}
