/** Returns the entry of an MCP server that any image with Node can run. Its one tool runs a script with `sh`. */
export function toShellServer() {
  return { command: "node", args: ["-e", PROGRAM] };
}

const PROGRAM = `
const { execFile } = require("node:child_process");
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const ANSWERS = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "shell", version: "1" } }),
  "tools/list": () => ({ tools: [{ name: "sh", description: "Runs a script.", inputSchema: { type: "object" } }] }),
};
require("node:readline")
  .createInterface({ input: process.stdin })
  .on("line", (line) => {
    const { id, method, params } = JSON.parse(line);
    if (method in ANSWERS) say({ id, result: ANSWERS[method](params) });
    if (method !== "tools/call") return;
    execFile("sh", ["-c", params.arguments.script], (error, stdout, stderr) =>
      say({ id, result: { content: [{ type: "text", text: stdout + stderr }], isError: error !== null } }));
  })
  .on("close", () => process.exit(0));
`;
