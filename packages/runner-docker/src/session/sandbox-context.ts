import type { LimitFunction } from "p-limit";
import type { Command, Owner } from "@budgie/core";
import type { Limits } from "@budgie/core/policy";
import type { ProxySockets, IdleContainers } from "@budgie/sandbox/egress";
import type { Login } from "@budgie/sandbox/login";
import type { MountedFiles } from "@budgie/sandbox/mounts";
import type { OpenRoot } from "@budgie/sandbox/proc";
import type { SandboxUser } from "@budgie/sandbox/profile";
import type { CopyBases } from "../bases/copy-bases.ts";
import type { Engine } from "../engine/engine.ts";
import type { OpenCache } from "./create-caches.ts";
import type { ProcAccess } from "./proc-access.ts";
import type { SharedFiles } from "./shared-files.ts";
import type { FindPrograms } from "../image/find-programs.ts";
import type { SandboxImage } from "../image/find-image.ts";

/** The state and settings that all sessions of a runner share. */
export type SandboxContext = {
  readonly engine: Engine;
  readonly image: SandboxImage;
  /** Finds an image that a command names, as it is now. Throws like the function of this name */
  readonly findImage: (name: string) => Promise<SandboxImage>;
  readonly findPrograms: FindPrograms;
  readonly openCache: OpenCache;
  /** The bases that sessions' copies share; `undefined` if each copy is filled on its own */
  readonly copyBases?: CopyBases | undefined;
  readonly owner: Owner;
  /** Time during which a home is kept after its last use; `undefined` if it ends with its owner */
  readonly keepSessionsMs: number | undefined;
  readonly user: SandboxUser;
  readonly callerGroups: readonly number[];
  readonly limits: Limits;
  /** `undefined` for the engine's default */
  readonly runtime: string | undefined;
  /** `undefined` if no command gets one */
  readonly login: Login | undefined;
  /** A private folder of the host for files that exist during a turn */
  readonly scratchDir: string;
  readonly proxySockets: ProxySockets;
  readonly idleContainers: IdleContainers;
  readonly visibility: ProcAccess;
  readonly sharedFiles: SharedFiles;
  /** True if copies of this machine's files may go to an engine elsewhere */
  readonly allowsRemoteCopy: boolean;
  /** Default: an inspection through `/proc` */
  readonly openRoot: OpenRoot | undefined;
  /** A file of certificates that sandboxes trust */
  readonly caFile: string | undefined;
  /** Writes the mounted files for a process with this environment, if they are missing */
  readonly ensureMountedFiles: (env: Command["env"]) => MountedFiles;
  /** Returns the seccomp profile in the engine's form, whose file it writes if that is missing; `undefined` if the engine has no seccomp */
  readonly ensureSeccomp: () => string | undefined;
  /** True if a sandbox is launched for a session's next turn */
  readonly launchesAhead: boolean;
  /** True if a process may stand by for a session's next turn */
  readonly keepsProcesses: boolean;
  /** Limits the number of containers that are created and started at once */
  readonly starting: LimitFunction;
  /** The turns of all sessions whose containers are not removed yet */
  readonly turns: Set<symbol>;
};
