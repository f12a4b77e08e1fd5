import type { ServerStatus } from "@budgie/mcp-manager";
import { findServers, type FoundServer, type McpChoice } from "@budgie/mcp-manager/agents";
import type { Config } from "../../config/config.ts";
import { withFlags, type Host } from "@budgie/mcp-server";
import { toServersConfig } from "@budgie/mcp-server/commands";
import { interruptible } from "../../process/interruptible.ts";
import { escapeForTerminal } from "@budgie/core/text";
import { stringifySafely } from "../../terminal/stringify-safely.ts";
import { formatTable } from "../../terminal/format-table.ts";
import { startServers } from "./start-servers.ts";

/** Runs `budgie mcp ls`: starts the servers that are allowed, and prints the state of all. */
export async function listServers(
  config: Config,
  choice: McpChoice & { readonly json: boolean },
  host: Host,
): Promise<number> {
  const found = findServers(toServersConfig(config, host), choice);
  const states = await interruptible(host, (signal) => startServers(found, { config, host, signal }));
  const listed = found.map((server, index) => listServer(server, states[index]));
  host.stdout.write(choice.json ? stringifySafely(listed) : formatServers(listed, host));
  return 0;
}

type Listed = {
  readonly agent: string;
  readonly name: string;
  readonly state: string;
  /** The place in which it was started; left out for a server that was not */
  readonly run?: string;
  /** The number of tools that may be called; left out for a server that was not started */
  readonly tools?: number;
  /** True if its tools differ from the approved ones */
  readonly toolsChanged?: boolean;
  readonly error?: string;
  readonly from: string;
};

function listServer({ agent, from, name, use }: FoundServer, status: ServerStatus | undefined): Listed {
  if ("reason" in use) {
    const isWanted = use.state === "broken" || "todo" in use;
    return { agent, name, state: use.state, ...(isWanted ? { error: use.reason } : {}), from };
  }
  const { error, state = "not-launched", tools = 0, toolsChanged } = status ?? {};
  return {
    agent,
    name,
    state,
    run: use.place.run,
    tools,
    ...(toolsChanged === undefined ? {} : { toolsChanged }),
    ...(error === undefined ? {} : { error: withFlags(error) }),
    from,
  };
}

function formatServers(listed: readonly Listed[], host: Host): string {
  if (listed.length === 0) return "No agent's file names an MCP server.\n";
  const rows = listed.map(({ agent, error = "", from, name, run = "-", state, tools, toolsChanged }) => [
    agent,
    name,
    state,
    run,
    tools === undefined ? "-" : String(tools),
    from,
    toolsChanged === true ? "its tools differ from the approved ones" : error,
  ]);
  const lines = formatTable(
    [["AGENT", "SERVER", "STATE", "RUN", "TOOLS", "FROM", ""], ...rows.map((row) => row.map(escapeForTerminal))],
    host,
  );
  return `${lines.join("\n")}\n`;
}
