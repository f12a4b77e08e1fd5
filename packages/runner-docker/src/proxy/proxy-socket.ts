import type { MountSettings } from "dockerode";
import type { SessionProxy } from "@budgie/egress";

/** Where the sockets of sessions' proxy sockets are, and who listens there. */
export type ProxySockets = {
  /** Makes a place for one session's proxy socket; nobody listens there yet */
  reserve(): Promise<ProxySocket>;
  /** Closes all proxy sockets, and removes what they need. */
  close(): Promise<void>;
};

/** One session's place for a proxy socket. */
export type ProxySocket = {
  /** What the session's container sees, and nobody else */
  readonly mount: MountSettings;
  /** In the session container */
  readonly socketPath: string;
  open(): Promise<SessionProxy>;
  remove(): Promise<void>;
};

/** Where a session container finds proxy sockets. */
export const SOCKETS_TARGET = "/run/budgie";
