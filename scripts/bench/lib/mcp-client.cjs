// Runs in a sandbox. Calls the tool "echo" of the MCP server at an address, as an agent does: {"count": 20} on stdin is answered with a
// line of 20 times in ms.
const { Agent, request } = require("node:http");
const { createInterface } = require("node:readline");

const { url } = JSON.parse(process.argv[1]);
const agent = new Agent({ keepAlive: true });
const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
let id = 0;

async function main() {
  const params = { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: { name: "bench", version: "1" } };
  await send({ id: id++, method: "initialize", params });
  await send({ method: "notifications/initialized" });
  for await (const line of createInterface({ input: process.stdin })) {
    const times = [];
    for (let { count } = JSON.parse(line); count > 0; count--) {
      const began = performance.now();
      const told = await send({
        id: id++,
        method: "tools/call",
        params: { name: "echo", arguments: { text: "canary" } },
      });
      times.push(performance.now() - began);
      if (!told.includes('"text":"canary"')) throw new Error(told);
    }
    console.log(JSON.stringify(times));
  }
}

function send(message) {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method: "POST", agent, headers }, (response) => {
      headers["mcp-session-id"] ??= response.headers["mcp-session-id"];
      let told = "";
      response.setEncoding("utf8").on("data", (text) => (told += text));
      response.on("end", () => resolve(told)).on("error", reject);
    });
    asked.on("error", reject).end(JSON.stringify({ jsonrpc: "2.0", ...message }));
  });
}

void main();
