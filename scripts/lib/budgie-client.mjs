// Starts budgie like an MCP client: as a child process that speaks JSON-RPC on its standard streams.
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

/** The program */
export const BUDGIE = fileURLToPath(new URL("../../packages/cli/bin/budgie.js", import.meta.url));
const IMAGE = "budgie-demo:latest";

/** Starts `budgie --sandbox` for the user whose home is `host`, with more options if given, and connects to it. */
export async function startBudgie(host, endpoint, options = []) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [BUDGIE, "--sandbox", "--sandbox-image", IMAGE, ...toPlaces(host), ...options],
    env: toEnvironment(host, endpoint),
    stderr: "pipe",
  });
  const lines = [];
  transport.stderr.on("data", (chunk) => lines.push(chunk));
  const client = new Client({ name: "budgie-demo", version: "1.0.0" });
  const stderr = () => Buffer.concat(lines).toString("utf8");
  try {
    await client.connect(transport);
  } catch (error) {
    throw new Error(`budgie did not start:\n${stderr()}`, { cause: error });
  }
  return {
    stderr,
    listTools: async () => (await client.listTools()).tools,
    ask: (agent, question) => ask(client, agent, question),
    quit: () => client.close(),
  };
}

function toPlaces({ agentsDir, promptsDir, dataDir }) {
  return ["--agents-dir", agentsDir, "--prompts-dir", promptsDir, "--kiro-data-dir", dataDir];
}

/** Returns the environment of a budgie with a sample home but the real engine, which the real home's configuration may name. */
export function toEnvironment({ home }, { url }) {
  const passed = Object.entries(process.env).filter(([name]) => /^(?:PATH|LANG|TERM|TMPDIR|DOCKER_.*)$/.test(name));
  const engine = url.startsWith("unix:") ? { DOCKER_HOST: url } : {};
  const own = { DOCKER_CONFIG: join(homedir(), ".docker"), BUDGIE_ALLOW_ROOT: tmpdir() };
  return { ...own, ...Object.fromEntries(passed), ...engine, HOME: home };
}

async function ask(client, agent, question) {
  const result = await client.callTool({ name: `kiro-subagents.${agent}`, arguments: question });
  if (result.isError) throw new Error(`${agent} failed: ${result.content[0]?.text}`);
  return result.structuredContent;
}
