import { spawn } from "node:child_process";
import { once } from "node:events";
import { homedir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { IMAGE, MAIN } from "./bench-place.mjs";

export const TOKEN = "a-token-of-a-benchmark-that-has-32-characters";

/** Starts a budgie over HTTP with sandboxes, whose sessions' turns run in the folder `small`. */
export async function startHttpBudgie({ directory, engine, host }, config) {
  const { agentsDir, dataDir, home, promptsDir } = host;
  const places = [
    "--agents-dir",
    agentsDir,
    "--prompts-dir",
    promptsDir,
    "--kiro-data-dir",
    dataDir,
    "--config",
    config,
  ];
  const flags = ["--sandbox", "--sandbox-image", IMAGE, "--trust-all-tools", "--transport", "http", "--port", "0"];
  const child = spawn(process.execPath, [MAIN, ...places, ...flags], {
    env: {
      PATH: process.env.PATH,
      HOME: home,
      DOCKER_HOST: engine.endpoint.url,
      DOCKER_CONFIG: join(homedir(), ".docker"),
      BUDGIE_ALLOW_ROOT: directory,
      BUDGIE_HTTP_TOKEN: TOKEN,
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const url = await new Promise((resolve, reject) => {
    const said = [];
    createInterface({ input: child.stderr }).on("line", (line) => {
      said.push(line);
      const [found] = /http:\S+\/mcp/.exec(line) ?? [];
      if (found !== undefined) resolve(found);
    });
    child.once("exit", () => reject(new Error(said.join("\n"))));
  });
  return {
    pid: child.pid,
    url,
    ended: once(child, "exit"),
    async connect() {
      const client = new Client({ name: "bench", version: "1" });
      const requestInit = { headers: { authorization: `Bearer ${TOKEN}` } };
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
      return {
        client,
        ask: (agent, input, signal) =>
          ask(client, agent, { input: { directory: join(directory, "small"), ...input }, signal }),
      };
    },
    async close() {
      child.kill("SIGTERM");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
  };
}

async function ask(client, agent, { input, signal }) {
  const call = { name: `kiro-subagents.${agent}`, arguments: input };
  const result = await client.callTool(call, undefined, { timeout: 600_000, signal });
  if (result.isError) throw new Error(result.content[0].text);
  return result.structuredContent;
}
