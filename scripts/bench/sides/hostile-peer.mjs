// The hostile parties outside of sandboxes, in a process of their own: a server of MCP over HTTP and of A2A, and a caller over HTTP. Prints
// its port; a line on stdin with a URL and a token begins the caller's attack.
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import program from "../lib/hostile-program.cjs";

const { ANSWER, attackMcp, toKeys, toList } = program;
const EVENTS = { "content-type": "text/event-stream", "mcp-session-id": "s" };
const toEvent = (message) => `data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;

const server = createServer((request, response) => void answer(request, response));

async function answer(request, response) {
  const { id, method, params } = JSON.parse((await text(request)) || "{}");
  if (request.url === "/mcp") return answerMcp(response, { id, method, params, isStream: request.method === "GET" });
  if (method === undefined) return sendCard(response);
  response.writeHead(200, EVENTS);
  const status = { state: "TASK_STATE_WORKING", message: { parts: toList(ANSWER) } };
  pour(response, toEvent({ id, result: { statusUpdate: { taskId: "t", contextId: "c", status } } }));
}

server.listen(0, "127.0.0.1", () => console.log(server.address().port));
createInterface({ input: process.stdin }).on("line", (line) => {
  const { authorization, url } = JSON.parse(line);
  void attackMcp(url, { authorization });
});

function answerMcp(response, { id, isStream, method, params }) {
  if (isStream || method === "tools/list") {
    response.writeHead(200, EVENTS);
    return pour(response, toEvent({ method: "notifications/message", params: { data: toKeys(ANSWER / 3) } }));
  }
  if (id === undefined) return response.writeHead(202).end();
  const info = { protocolVersion: params?.protocolVersion, capabilities: { tools: {} } };
  const result = { ...info, serverInfo: { name: "x", version: "1" } };
  response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "s" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
}

function sendCard(response) {
  const interfaces = [{ url: "http://elsewhere.invalid/", protocolBinding: "JSONRPC", protocolVersion: "1.0" }];
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ supportedInterfaces: interfaces, capabilities: { streaming: true } }));
}

/** Writes an event again and again, as fast as it is read. */
function pour(response, event) {
  if (response.destroyed) return;
  while (response.write(event));
  response.once("drain", () => pour(response, event));
}
