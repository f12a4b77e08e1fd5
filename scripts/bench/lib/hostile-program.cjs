// A program in a sandbox that does its worst below budgie's bounds, by its first argument: "agent" sends requests to the MCP servers that its
// agent file names, "server" speaks MCP on its output, and "acp" the Agent Client Protocol.
const { readdirSync, readFileSync } = require("node:fs");
const { createInterface } = require("node:readline");

const [mode] = process.argv.slice(-1);
// Below the bounds on values of a request (10,000), of an `initialize` (1,000), and of an answer (50,000).
const REQUEST = 3000;
const INITIALIZE = 300;
const ANSWER = 20_000;

const toKeys = (count) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, {}]));
const toList = (count) => Array.from({ length: count }, () => ({}));
const print = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

const MODES = { agent: beAgent, server: beServer, acp: beAcp };
MODES[mode]?.();

async function beAgent() {
  const folder = `${process.env.HOME}/.kiro/agents`;
  const files = readdirSync(folder).map((name) => readFileSync(`${folder}/${name}`, "utf8"));
  const [url] = /http:\/\/[^"]+\/mcp\/[^"]+/.exec(files.join());
  await attackMcp(url, {});
}

/** Sends wrong `initialize`s, and calls with as much as a request may have and with more, 64 at once and for ever. */
async function attackMcp(url, more) {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream", ...more };
  let id = 0;
  const post = async (message, own = {}) => {
    id += 1;
    const body = `{"jsonrpc":"2.0","id":${id},${message}`;
    const response = await fetch(url, { method: "POST", headers: { ...headers, ...own }, body });
    await response.text();
    return response;
  };
  const info = { name: "x", version: "1" };
  const begun = await post(toInitialize(info));
  const session = { "mcp-session-id": begun.headers.get("mcp-session-id") };
  if (!begun.ok) throw new Error(`The attack cannot begin: HTTP ${begun.status}`);
  const worst = [
    [toInitialize({ ...info, icons: toList(INITIALIZE) })],
    ...[toKeys(REQUEST), { large: "x".repeat(4 * 2 ** 20 - 2000) }, { many: toList(500_000) }].map((given) => [
      toMessage("tools/call", { name: "none", arguments: given }),
      session,
    ]),
  ];
  const attack = async (index) => {
    let isRefused = false;
    for (let turn = index; !isRefused; turn += 1) {
      await post(...worst[turn % worst.length]).catch(({ cause }) => (isRefused = cause?.code === "ECONNREFUSED"));
    }
  };
  await Promise.all(Array.from({ length: 64 }, (_, index) => attack(index)));
}

function toInitialize(clientInfo) {
  return toMessage("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
}

/** Returns a message without its beginning. */
function toMessage(method, params) {
  return JSON.stringify({ method, params }).slice(1);
}

function beServer() {
  const serverInfo = { name: "x", version: "1" };
  createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method, params } = JSON.parse(line);
    if (method === "initialize") {
      print({
        id,
        result: { protocolVersion: params.protocolVersion, capabilities: { tools: { listChanged: true } }, serverInfo },
      });
    } else if (id !== undefined) print({ id, result: { tools: toTools() } });
    if (method === "notifications/initialized") pour(toPoured("notifications/message", { data: toKeys(ANSWER / 3) }));
  });
}

/** Returns a tenth of the values that all tools may have, since a list that is refused ends the server. */
function toTools() {
  return Array.from({ length: 100 }, (_, index) => ({
    name: `t${index}`,
    inputSchema: { type: "object", items: toList(200) },
  }));
}

function beAcp() {
  createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method, params } = JSON.parse(line);
    if (method === "initialize") print({ id, result: { protocolVersion: 1, agentCapabilities: {} } });
    if (method === "session/new") print({ id, result: { sessionId: "s" } });
    if (method === "session/prompt") {
      const update = { sessionUpdate: "plan", entries: toList(ANSWER) };
      pour(toPoured("session/update", { sessionId: params.sessionId, update }));
    }
  });
}

function toPoured(method, params) {
  return `${JSON.stringify({ jsonrpc: "2.0", method, params })}\n`;
}

/** Writes a message again and again, as fast as it is read. */
function pour(message) {
  while (process.stdout.write(message));
  process.stdout.once("drain", () => pour(message));
}

module.exports = { attackMcp, toKeys, toList, ANSWER };
