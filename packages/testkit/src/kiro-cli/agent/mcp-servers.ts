import { spawn, type SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { KiroAgent, McpServer } from "./kiro-agent.ts";
import { connectMcp, type McpConnection } from "./mcp-connection.ts";
import { kiroFolder, resolveFrom } from "../profile/kiro-folder.ts";
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
  const wanted = Object.entries(servers).filter(([, { disabled }]) => disabled !== true);
  const connections = new Map<string, McpConnection>();
  const started = await Promise.allSettled(
    wanted.map(async ([name, server]) => {
      if (server.url === undefined) return startServer(server);
      const connection = await connectMcp(server.url, server.headers);
      connections.set(name, connection);
      return connection.close;
    }),
  );
  return {
    warnings: started.some(({ status }) => status === "rejected") ? [NOT_LOADED] : [],
    connections,
    async stop() {
      await Promise.allSettled(started.flatMap((each) => (each.status === "fulfilled" ? [each.value()] : [])));
    },
  };
}

const NOT_LOADED = "One or more mcp server did not load correctly.";

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

/** Starts a server's command. Resolves to a function that ends its stdin, and waits a moment for it. */
async function startServer({ args = [], command = "", env }: McpServer): Promise<() => Promise<void>> {
  // As in the real program, its own environment overrides the configured one.
  const own = { ...env, ...process.env };
  const options: SpawnOptions = { env: own, detached: true, stdio: ["pipe", "ignore", "ignore"] };
  const server = spawn(command.startsWith("~") ? resolveFrom(homedir(), command) : command, args, options);
  await once(server, "spawn");
  return async () => {
    server.stdin?.on("error", () => undefined).end();
    if (server.exitCode === null) await Promise.race([once(server, "exit"), sleep(2000)]);
  };
}
