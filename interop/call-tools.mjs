// A client of the SDK that its argument names. It reads from stdin which server to connect to and what to call there, and
// prints what it saw. A process of its own for each client, so that no two versions of an SDK meet.
//
// stdin:  { server: { command, args, env } | { url, token }, calls: [{ name, arguments, goesOn?, options? }] }
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
  // The first SDK does not tell.
  revision: client.getNegotiatedProtocolVersion?.(),
  tools: tools.map(({ name }) => name),
  outcomes,
};
// Only over HTTP is there something to say before one goes.
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

/** `v2-legacy` begins with "initialize"; `v2-auto` asks first whether the server knows the revision that has none. */
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

/** A call that goes on takes the session of the one before it. */
async function toOutcome({ arguments: input, goesOn, name, options = {} }) {
  const progress = [];
  const onprogress = (told) => progress.push(told);
  const sessionId = goesOn ? outcomes.at(-1).result.structuredContent.sessionId : undefined;
  try {
    const result = await callTool({ name, arguments: { ...input, sessionId } }, { onprogress, ...options });
    return { result, progress };
  } catch ({ code, message }) {
    return { error: { code, message }, progress };
  }
}

function giveUp() {
  process.stderr.write(`Not done after ${LIMIT_MS} ms.\n`);
  process.exit(1);
}
