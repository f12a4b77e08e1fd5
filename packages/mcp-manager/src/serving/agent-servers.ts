import { createByteBudget } from "@budgie/core/bounds";
import { serveMcpServers } from "./serve-mcp-servers.ts";
import { closeShared, type ServeAgentOptions, type ServingStep } from "./shared-servers.ts";
import { removeCopies } from "./write-shown-file.ts";

/** The MCP servers of all agents of one budgie. */
export type AgentServers = {
  /** Gives an agent its servers */
  readonly step: ServingStep;
  /** Ends the servers that sessions share, and removes what was written for agents, none of which may run any more. */
  readonly close: () => Promise<void>;
};

/** The most bytes of all agents' pending requests to their servers. */
const MOST_PENDING_BYTES = 64 * 2 ** 20;

/** Creates the servers of agents, which start with the sessions that need them. */
export function createAgentServers(given: Pick<ServeAgentOptions, "config" | "instance" | "runner">): AgentServers {
  const options = { ...given, shared: new Map(), allPending: createByteBudget(MOST_PENDING_BYTES) };
  return {
    step: serveMcpServers(options),
    async close() {
      await closeShared(options.shared);
      removeCopies(options);
    },
  };
}
