import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { KiroAgent, McpServer } from "./kiro-agent.ts";
import { connectMcp, type McpConnection } from "./mcp-connection.ts";
import { kiroFolder, resolveFrom } from "../profile/paths.ts";
import type { Settings } from "../profile/settings.ts";

export type McpServers = {
  /** Warnings for stderr */
  readonly warnings: readonly string[];
  /** The servers with an address, by name */
  readonly connections: ReadonlyMap<string, McpConnection>;
  readonly stop: () => Promise<void>;
};

/**
 * Starts an agent's servers like the real program: those of its file and, if included, of the user's and the current folder's `mcp.json`.
 * A command gets a process group of its own, receives nothing, and is expected to end with its stdin. An address is connected to, and its
 * tools can be called.
 */
export async function startMcpServers(agent: KiroAgent, settings: Settings): Promise<McpServers> {
  // V3 starts them whatever the agent includes.
  const lists = agent.includesMcpJson || settings.harness === "v3" ? listFiles(settings).map(readServers) : [];
  const servers: Readonly<Record<string, McpServer>> = Object.assign({}, ...lists, agent.mcpServers);
  const wanted = Object.values(servers).filter(({ command, disabled }) => command !== undefined && disabled !== true);
  const started = await Promise.all(wanted.map(startServer));
  const running = started.filter((server) => server !== undefined);
  const remote = Object.entries(servers).filter(([, { disabled, url }]) => url !== undefined && disabled !== true);
  const connected = await Promise.all(remote.map(connectServer));
  const connections = new Map(connected.filter((entry) => entry !== undefined));
  const isComplete = running.length === wanted.length && connections.size === remote.length;
  return {
    warnings: isComplete ? [] : ["One or more mcp server did not load correctly."],
    connections,
    async stop() {
      const closed = [...connections.values()].map((connection) => connection.close().catch(() => undefined));
      await Promise.all([...running.map(stopServer), ...closed]);
    },
  };
}

async function connectServer([name, { headers, url = "" }]: [string, McpServer]) {
  try {
    return [name, await connectMcp(url, headers)] as const;
  } catch {
    return undefined;
  }
}

/** Lists the `mcp.json` files, of which later ones win. Only the first engine reads the older folder name. */
function listFiles({ profile }: Settings): readonly string[] {
  const user = join(kiroFolder(), "settings", "mcp.json");
  const older = profile === "q1" ? [join(process.cwd(), ".amazonq", "mcp.json")] : [];
  return [user, ...older, join(process.cwd(), ".kiro", "settings", "mcp.json")];
}

function readServers(file: string): Readonly<Record<string, McpServer>> {
  if (!existsSync(file)) return {};
  const { mcpServers = {} } = JSON.parse(readFileSync(file, "utf8")) as { mcpServers?: Record<string, McpServer> };
  return mcpServers;
}

async function startServer({ args = [], command = "", env }: McpServer): Promise<ChildProcess | undefined> {
  // As in the real program, its own environment overrides the configured one.
  const own = { ...env, ...process.env };
  const options: SpawnOptions = { env: own, detached: true, stdio: ["pipe", "ignore", "ignore"] };
  const server = spawn(command.startsWith("~") ? resolveFrom(homedir(), command) : command, args, options);
  try {
    await once(server, "spawn");
    return server;
  } catch {
    return undefined;
  }
}

async function stopServer(server: ChildProcess): Promise<void> {
  server.stdin?.on("error", () => undefined).end();
  if (server.exitCode === null) await Promise.race([once(server, "exit"), sleep(2000)]);
}
