import type { ByteBudget, Runner } from "@budgie/core";
import type { SharedServer } from "@budgie/mcp-manager";
import type { Config } from "../config/config.ts";
import type { Host } from "../process/host.ts";
import type { ServerSandboxes } from "./server-sandboxes.ts";

export type ServeAgentOptions = {
  readonly config: Config;
  readonly host: Host;
  readonly runner: Runner;
  /** The owner of the sessions; the runner removes its scratch folder */
  readonly instance: string;
  readonly shared: SharedServers;
  /** The bytes of all agents' pending requests to their servers; default those of each agent alone */
  readonly allPending?: ByteBudget | undefined;
};

/** The most bytes of all agents' pending requests to their servers. */
export const MOST_PENDING_BYTES = 64 * 2 ** 20;

/** The servers that sessions share, by place and entry. They start with the first session that needs them. */
export type SharedServers = Map<string, { readonly server: SharedServer; readonly sandboxes: ServerSandboxes }>;

/** Ends the servers that sessions share. */
export async function closeShared(servers: SharedServers): Promise<void> {
  const entries = [...servers.values()];
  servers.clear();
  await Promise.all(entries.map(({ server }) => server[Symbol.asyncDispose]()));
  await Promise.all(entries.map(({ sandboxes }) => sandboxes[Symbol.asyncDispose]()));
}
