// Starts budgie as an MCP client does, and prints the tools that it makes of a folder of agents.
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [budgie, agents] = ["../packages/cli/bin/budgie.js", "./agents"].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);
const client = new Client({ name: "example", version: "1.0.0" });
await client.connect(
  new StdioClientTransport({ command: process.execPath, args: [budgie, "--agents-dir", agents], stderr: "ignore" }),
);
try {
  const { tools } = await client.listTools();
  for (const { name } of tools) {
    console.log(name);
  }
} finally {
  await client.close();
}
