import type { EgressMode, Runner, RunnerSession } from "@budgie/core";
import type { ByteBudget } from "@budgie/core/bounds";
import type { ProtocolAnswer } from "@budgie/core/protocol";
import type { Turn } from "@budgie/core/turn";
import type { ServersConfig } from "../agents/servers-config.ts";
import type { ServerSandboxes } from "../connections/server-sandboxes.ts";
import type { SharedServer } from "../server/shared-server.ts";

/** A turn, as far as the servers of its agent depend on it. */
export type ServedCall = Pick<Turn, "events" | "offered" | "report" | "shown"> & {
  readonly request: Pick<Turn["request"], "agent"> & {
    readonly policy: { readonly egress: { readonly mode: EgressMode } };
  };
  readonly session: { readonly home: RunnerSession };
};

/** A step of a {@link ServedCall}. */
export type ServingStep = (turn: ServedCall, next: () => Promise<ProtocolAnswer>) => Promise<ProtocolAnswer>;

export type ServeAgentOptions = {
  readonly config: ServersConfig;
  readonly runner: Runner;
  /** The owner of the sessions; the runner removes its scratch folder */
  readonly instance: string;
  readonly shared: SharedServers;
  /** The bytes of all agents' pending requests to their servers; default those of each agent alone */
  readonly allPending?: ByteBudget | undefined;
};

/** The servers that sessions share, by place and entry. They start with the first session that needs them. */
export type SharedServers = Map<string, { readonly server: SharedServer; readonly sandboxes: ServerSandboxes }>;

/** Ends the servers that sessions share. */
export async function closeShared(servers: SharedServers): Promise<void> {
  const entries = [...servers.values()];
  servers.clear();
  await Promise.all(entries.map(({ server }) => server[Symbol.asyncDispose]()));
  await Promise.all(entries.map(({ sandboxes }) => sandboxes[Symbol.asyncDispose]()));
}
