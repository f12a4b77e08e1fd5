import type { ServerStatus } from "@budgie/mcp-manager";
import type { Config } from "../../config/config.ts";
import type { Host } from "../../process/host.ts";
import { interruptible } from "../../process/interruptible.ts";
import { escapeForTerminal } from "../../terminal/printable.ts";
import { toSafeJson } from "../../terminal/safe-json.ts";
import { toTable } from "../../terminal/table.ts";
import { withFlags } from "../../terminal/with-flags.ts";
import { findServers, type FoundServer, type McpChoice } from "../../agent-servers/find-servers.ts";
import { startServers } from "./start-servers.ts";

/** Runs `budgie mcp ls`: starts the servers that are allowed, and prints the state of all. */
export async function listServers(
  config: Config,
  choice: McpChoice & { readonly json: boolean },
  host: Host,
): Promise<number> {
  const found = findServers(config, choice, host);
  const states = await interruptible(host, (signal) => startServers(found, { config, host, signal }));
  const listed = found.map((server, index) => toListed(server, states[index]));
  host.stdout.write(choice.json ? toSafeJson(listed) : toText(listed));
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

function toListed({ agent, from, name, use }: FoundServer, status: ServerStatus | undefined): Listed {
  if ("reason" in use)
    return { agent, name, state: use.state, ...(use.state === "broken" ? { error: use.reason } : {}), from };
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

function toText(listed: readonly Listed[]): string {
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
  const lines = toTable([["AGENT", "SERVER", "STATE", "RUN", "TOOLS", "FROM", ""], ...rows]);
  return `${lines.map(escapeForTerminal).join("\n")}\n`;
}
