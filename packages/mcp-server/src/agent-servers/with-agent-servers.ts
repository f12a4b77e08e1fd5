import type { Protocol, ProtocolAnswer, ProtocolTurn } from "@budgie/core";
import { namesServers, needsCopy, toCopiesFolder, writeShownFile } from "./agent-file.ts";
import type { ServeAgentOptions } from "./shared-servers.ts";

/**
 * Wraps a protocol so that agents in a sandbox get the MCP servers that they are allowed, and Kiro's agents no others. An agent whose
 * file Kiro's V2 harness cannot read is shown to it in a copy.
 */
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

  function hasServers(agent: ProtocolTurn["agent"]): boolean {
    const { file, name, program } = agent;
    if (program !== undefined) return mcp.has(name) || allowMcp.length > 0;
    // Without a sandbox, V2 starts the servers itself. A file that no longer names any ends those that it named.
    return (sandbox || kiroHarness === "v3") && (served.has(file) || namesServers(agent));
  }

  async function showCopy(turn: ProtocolTurn): Promise<ProtocolAnswer> {
    const shown = writeShownFile(turn.agent, { folder: toCopiesFolder(options) });
    return protocol({ ...turn, agent: { ...turn.agent, shown } });
  }

  return (turn) => {
    const { agent } = turn;
    if (hasServers(agent)) return serve(turn);
    const isReadable = agent.program !== undefined || kiroHarness === "v3" || !needsCopy(agent);
    return isReadable ? protocol(turn) : showCopy(turn);
  };
}
