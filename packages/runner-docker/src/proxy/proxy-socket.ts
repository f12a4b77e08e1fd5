import type { MountSettings } from "dockerode";
import type { SessionProxy } from "@budgie/egress";

/** The proxy sockets of a runner's sessions. */
export type ProxySockets = {
  /** Reserves a session's proxy socket, on which no proxy listens yet. */
  reserve(): Promise<ProxySocket>;
  /** Closes all proxy sockets, and removes their folders, container and volume. */
  close(): Promise<void>;
};

/** The unix socket through which a session's container reaches its proxy. */
export type ProxySocket = {
  /** The mount that the session's container gets, and no other container */
  readonly mount: MountSettings;
  /** Path in the session container */
  readonly socketPath: string;
  open(): Promise<SessionProxy>;
  remove(): Promise<void>;
};

/** The folder of proxy sockets in a session container. */
export const SOCKETS_TARGET = "/run/budgie";
