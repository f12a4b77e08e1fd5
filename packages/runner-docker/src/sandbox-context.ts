import type { LimitFunction } from "p-limit";
import type { Command, Limits, Owner } from "@budgie/core";
import type { Credentials } from "./credentials.ts";
import type { Doors } from "./doors.ts";
import type { Engine } from "./engine.ts";
import type { EngineSight } from "./engine-sight.ts";
import type { LookInto } from "./enter-container.ts";
import type { SandboxImage } from "./find-image.ts";
import type { LiveHolders } from "./live-holders.ts";
import type { MountedFiles } from "./mounted-files.ts";
import type { SandboxUser } from "./sandbox-user.ts";

/** What all sessions of a runner share. */
export type SandboxContext = {
  readonly engine: Engine;
  readonly image: SandboxImage;
  readonly owner: Owner;
  /** How long a home outlives its owner after its last use; `undefined` if it does not */
  readonly keepSessionsMs: number | undefined;
  readonly user: SandboxUser;
  readonly callerGroups: readonly number[];
  readonly limits: Limits;
  /** The engine's own if undefined */
  readonly runtime: string | undefined;
  readonly credentials: Credentials;
  readonly kiroDataDir: string;
  /** A private folder of the host for files that live no longer than a turn */
  readonly scratchDir: string;
  readonly doors: Doors;
  readonly live: LiveHolders;
  readonly sight: EngineSight;
  /** Default a look through `/proc` */
  readonly lookInto: LookInto | undefined;
  /** Certificates of the host that sandboxes shall trust */
  readonly caFile: string | undefined;
  /** Writes the mounted files for a process with this environment, if they are missing */
  readonly ensureMountedFiles: (env: Command["env"]) => MountedFiles;
  /** Bounds how many containers are created and started at once */
  readonly starting: LimitFunction;
};
