import type { MountSettings } from "dockerode";
import type { SessionProxy } from "@budgie/egress";

/** Where the sockets of sessions' doors are, and who listens there. */
export type Doors = {
  /** Makes a place for one session's door; nobody listens there yet */
  reserve(): Promise<DoorPlace>;
  /** Closes all doors, and removes what they need. */
  close(): Promise<void>;
};

/** One session's place for a door. */
export type DoorPlace = {
  /** What the session's holder sees, and nobody else */
  readonly mount: MountSettings;
  /** In the holder */
  readonly socketPath: string;
  open(): Promise<SessionProxy>;
  remove(): Promise<void>;
};

/** Where a holder finds doors. */
export const DOORS_TARGET = "/run/budgie";
