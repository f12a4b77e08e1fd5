import type { ServeAgents } from "@budgie/claims";
import { withAgentServers } from "../../agent-servers/with-agent-servers.ts";
import { parseConfig } from "../../config/config.ts";
import type { Host } from "../../process/host.ts";

/** Returns a function that gives the agents of a lab their MCP servers, without the user's home, environment and state. */
export function createServeInLab(process: Host): ServeAgents {
  return (protocol, { configFile, home, runner, stateDir }) => {
    const host = { ...process, home, env: { HOME: home } };
    const config = parseConfig({ sandbox: true, config: configFile, stateDir }, host);
    return withAgentServers(protocol, { config, host, runner, instance: "lab", shared: new Map() });
  };
}
