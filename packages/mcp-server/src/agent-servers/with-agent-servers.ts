import type { Protocol, ProtocolAnswer, ProtocolTurn } from "@budgie/core";
import { namesServers } from "./agent-file.ts";
import type { ServeAgentOptions } from "./shared-servers.ts";

/** Wraps a protocol so that agents in a sandbox get the MCP servers that they are allowed. Kiro's agents get no others. */
export function withAgentServers(protocol: Protocol, options: ServeAgentOptions): Protocol {
  const { allowMcp, kiroHarness, mcp, sandbox } = options.config;
  let serving: Promise<Protocol> | undefined;
  const served = new Set<string>();

  async function serve(turn: ProtocolTurn): Promise<ProtocolAnswer> {
    served.add(turn.agent.file);
    // Imported late, since most agents have none.
    serving ??= import("./serve-agent.ts").then(({ createServeAgent }) => createServeAgent(protocol, options));
    return (await serving)(turn);
  }

  function hasServers({ file, name, program }: ProtocolTurn["agent"]): boolean {
    if (program !== undefined) return mcp.has(name) || allowMcp.length > 0;
    // Without a sandbox, V2 starts the servers itself. A file that no longer names any ends those that it named.
    return (sandbox || kiroHarness === "v3") && (served.has(file) || namesServers(file));
  }

  return (turn) => (hasServers(turn.agent) ? serve(turn) : protocol(turn));
}
