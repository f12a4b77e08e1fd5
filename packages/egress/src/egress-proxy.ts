import type { EgressPolicy, EgressReport } from "@budgie/core";

/** Keeps sessions to their egress policies: each has a door, which is a unix socket with a policy and a log of its own. */
export interface EgressProxy {
  open(door: { readonly socketPath: string }): Promise<EgressDoor>;
  /** Closes all doors, and cuts what still goes through them. */
  close(): Promise<void>;
}

export type EgressDoor = {
  /** Closed to everything until the first policy is set. Connections that a new policy would not allow are cut. */
  setPolicy(policy: EgressPolicy): Promise<void>;
  /** What has happened since this was last asked, bounded in size. */
  take(): Promise<EgressReport>;
  close(): Promise<void>;
};
