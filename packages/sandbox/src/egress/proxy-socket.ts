import type { SessionProxy } from "@budgie/egress";
import type { MountSettings } from "../mounts/mount-settings.ts";

/** The proxy sockets of a runner's sessions. */
export type ProxySockets = {
  /** Reserves a session's proxy socket, on which no proxy listens yet. */
  reserve(): Promise<ProxySocket>;
  /** Closes all proxy sockets, and removes their folders, container and volume. */
  close(): Promise<void>;
};

/** The unix socket through which a session's container reaches its proxy. */
export type ProxySocket = {
  /** The mount that the session's container gets */
  readonly mount: MountSettings;
  /** Path in a container with that mount */
  readonly socketPath: string;
  /**
   * Puts the forwarder beside the socket, for a container that runs the forwarder itself; returns `undefined` if none could run it from
   * there
   */
  readonly bringForwarder?: () => OwnForwarder | undefined;
  /** True if its proxy can answer requests with functions of this process */
  readonly isHere: boolean;
  open(): Promise<SessionProxy>;
  remove(): Promise<void>;
};

/** The forwarder of a process with a network of its own. */
export type OwnForwarder = {
  /** The folder on the host of the proxy socket and the forwarder, for a read-only mount at `SOCKETS_TARGET` */
  readonly folder: string;
  /** The start of a command line: forwards in the background, and runs the command that follows */
  readonly command: readonly string[];
};
