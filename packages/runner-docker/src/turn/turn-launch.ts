import type { ContainerCreateOptions, MountSettings } from "dockerode";
import { DEFAULT_ACCESS, toHidden, type Command, type Limits, type SessionId, type StartOptions } from "@budgie/core";
import { toLabels } from "../engine/labels.ts";
import type { SandboxImage } from "../image/find-image.ts";
import { toTurnContainer } from "../sandbox/container-options.ts";
import type { MountedFiles } from "../sandbox/mounted-files.ts";
import type { HeldMounts, SessionVolumes, TurnMount, TurnMounts } from "../sandbox/mounts.ts";
import { toExtraGroups } from "../sandbox/sandbox-user.ts";
import type { SandboxContext } from "../session/sandbox-context.ts";
import type { TurnNetwork } from "../session/session-network.ts";
import type { StartedTurn } from "./turn-process.ts";

/** All that a turn's container depends on. */
export type TurnLaunch = {
  readonly context: SandboxContext;
  readonly session: SessionId;
  readonly volumes: SessionVolumes;
  readonly command: Command;
  readonly options: StartOptions;
  readonly network: Pick<TurnNetwork, "forwarder" | "joinable" | "mode">;
  /** Decides whether a container that cannot be looked into is refused */
  readonly decideVisibility: () => Promise<boolean>;
  /**
   * Resolves once the session's container, and so its volumes, are known to exist: to the id of its run, or to `undefined` if it does not
   * run
   */
  readonly containerReady: Promise<string | undefined>;
  /** Throws if a mount point in the home is a symlink */
  readonly checkMountPoints: (paths: readonly string[]) => Promise<void>;
  /** The container that was made for this turn before its call, or `undefined` if that failed; left out if none was made */
  readonly ahead?: Promise<LaunchedTurn | undefined> | undefined;
};

/** A container that waits for the first line of its stdin. */
export type LaunchedTurn = Pick<StartedTurn, "container" | "root" | "socket"> & {
  readonly skeleton: string;
  readonly mounts: readonly TurnMount[];
  /** Description of what it was made from; `undefined` if no turn is made before its call */
  readonly facts: string | undefined;
  /** Removes it, if no agent ran in it. */
  discard(): Promise<void>;
};

type BodyParts = { readonly held: HeldMounts; readonly image: Pick<SandboxImage, "id" | "volumes"> };

// As /tmp has.
const VOLUME_BYTES = 512 * 1024 ** 2;

/** Returns the body of the request that creates a turn's container. */
export function toTurnBody(turn: TurnLaunch, { held, image }: BodyParts): ContainerCreateOptions {
  const { context, network, options, session } = turn;
  const { caFile, callerGroups, engine, limits, owner, runtime, user } = context;
  const mounts = held.mounts.map(({ settings }) => settings);
  return toTurnContainer({
    imageId: image.id,
    user,
    extraGroups: toExtraGroups(held.workspace.gid, user, callerGroups),
    mounts: [...mounts, ...coverVolumes(image.volumes, mounts)],
    network: network.mode,
    forwarder: network.forwarder?.command,
    caFile,
    limits: toLowerLimits(limits, options.access?.limits ?? {}),
    seccomp: context.ensureSeccomp(),
    hasUlimits: !engine.protections.some((protection) => protection.name === "ulimits"),
    runtime,
    labels: toLabels(owner.record, session, "turn"),
  });
}

/** Returns a mount in memory for each of an image's volumes: the engine would create one on its disk, which has no limit. */
function coverVolumes(volumes: readonly string[], mounts: readonly MountSettings[]): MountSettings[] {
  const taken = new Set(["/tmp", "/var/tmp", ...mounts.map(({ Target }) => Target)]);
  return volumes
    .filter((path) => !taken.has(path))
    .map((Target) => ({
      Type: "tmpfs",
      Source: "",
      Target,
      TmpfsOptions: { SizeBytes: VOLUME_BYTES, Mode: 0o1777 },
    }));
}

/** Returns the lower of each of a runner's and a turn's limits. */
export function toLowerLimits(own: Limits, asked: Partial<Limits>): Limits {
  return {
    memoryBytes: Math.min(own.memoryBytes, asked.memoryBytes ?? Infinity),
    cpus: Math.min(own.cpus, asked.cpus ?? Infinity),
    pids: Math.min(own.pids, asked.pids ?? Infinity),
    diskBytes: Math.min(own.diskBytes, asked.diskBytes ?? Infinity),
  };
}

/** Returns what a turn's mounts are made from. */
export function toTurnMounts(
  { command, context, network, options, volumes }: TurnLaunch,
  files: MountedFiles & Pick<TurnMounts, "skeleton">,
): TurnMounts {
  const { access = DEFAULT_ACCESS, directory: workspace, protectedPaths = [] } = options;
  return {
    volumes,
    workspace,
    workspaceMode: access.workspace,
    protectedPaths: access.workspace === "ro" ? [] : protectedPaths,
    projections: command.projections,
    hidden: toHidden(command),
    ...files,
    caFile: context.caFile,
    network: network.mode,
    forwarderFolder: network.forwarder?.folder,
  };
}
