// An MCP server whose one tool answers with its argument "text".
const { createInterface } = require("node:readline");

const ANSWERS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "echo", version: "1" },
  }),
  "tools/list": () => ({ tools: [{ name: "echo", description: "Echoes.", inputSchema: { type: "object" } }] }),
  "tools/call": (params) => ({ content: [{ type: "text", text: params.arguments.text }] }),
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: ANSWERS[method]?.(params) ?? {} }));
});
