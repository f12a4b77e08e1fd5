import { randomUUID } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ContainerCreateOptions } from "dockerode";
import type { Command, SessionId, StartOptions } from "@budgie/core";
import { DEFAULT_ACCESS, type CacheTool, type Limits } from "@budgie/core/policy";
import type { ProcessNetwork } from "@budgie/sandbox/egress";
import {
  holdMounts,
  type CopyCover,
  type HeldMounts,
  type MountSettings,
  type VolumeMount,
  type Volumes,
} from "@budgie/sandbox/mounts";
import { cacheEnvironment, listExtraGroups } from "@budgie/sandbox/profile";
import { sandboxKey } from "@budgie/sandbox/standby";
import { omitCreated, toLabels } from "../engine/to-labels.ts";
import { addPrograms } from "../image/find-programs.ts";
import { PROGRAMS, type SandboxImage } from "../image/find-image.ts";
import type { ContainerMount } from "../sandbox/to-mount.ts";
import { toSandboxContainer } from "../sandbox/container-options.ts";
import type { SandboxContext } from "../session/sandbox-context.ts";
import type { SendMounts } from "./create-mount-sender.ts";
import type { OpenServices } from "../session/session-services.ts";

/** All that a sandbox depends on. */
export type SandboxRequest = {
  readonly context: SandboxContext;
  readonly session: SessionId;
  readonly volumes: Volumes;
  readonly command: Command;
  readonly options: StartOptions;
  readonly network: Pick<ProcessNetwork, "forwarder" | "joinable" | "mode">;
  /** The session's services; `undefined` for none */
  readonly services?: OpenServices | undefined;
  /** Decides whether a container that cannot be looked into is refused */
  readonly decideVisibility: () => Promise<boolean>;
  /**
   * Resolves once the session's container, and so its volumes, are known to exist: to the id of its run, or to `undefined` if it does not
   * run
   */
  readonly containerReady: Promise<string | undefined>;
  /** The covers over a copy of the workspace; default none */
  readonly copyCovers?: readonly CopyCover[] | undefined;
  /** Sends what the host has for a sandbox to an engine that does not see it */
  readonly sendMounts: SendMounts;
  /** Throws if a mount point in the home is a symlink */
  readonly checkMountPoints: (paths: readonly string[]) => Promise<void>;
};

/** A sandbox as it would be launched now. The sources of its mounts are open until the plan is disposed. */
export type SandboxPlan = AsyncDisposable & {
  readonly request: SandboxRequest;
  /** The body of the request that creates its container */
  readonly body: ContainerCreateOptions;
  readonly held: HeldMounts;
  /** Equal for two plans only if their sandboxes would be the same, whenever they are launched */
  readonly key: string;
  /** The run of the session's container whose network it joins; `undefined` if it joins none, or that does not run yet */
  readonly networkRun: string | undefined;
  /** Leaves the folder of the covers to a sandbox, which removes it with the returned function; otherwise it ends with the plan */
  readonly keepCovers: () => () => Promise<void>;
};

/** Plans a sandbox: opens what it mounts, makes its covers, sends both to an engine that does not see them, and changes nothing else. */
export async function planSandbox(request: SandboxRequest): Promise<SandboxPlan> {
  const { command, context, network, options } = request;
  // The files that a turn is shown are readable to all, so the folder around them is not.
  await mkdir(context.scratchDir, { recursive: true, mode: 0o700 });
  const skeleton = join(context.scratchDir, `turn-${randomUUID()}`);
  // If this fails, the folder is removed with the runner's other scratch files.
  const removeCovers = (): Promise<void> => rm(skeleton, { recursive: true, force: true }).catch(() => undefined);
  let held: HeldMounts | undefined;
  let isKept = false;
  async function dispose(): Promise<void> {
    await Promise.all([held?.[Symbol.asyncDispose](), isKept || removeCovers()]);
  }
  try {
    const isSeen = await context.sharedFiles.check((options.access ?? DEFAULT_ACCESS).workspace);
    const files = context.ensureMountedFiles(command.env);
    const { hostsFile } = request.services ?? files;
    held = await holdMounts({ ...request, ...files, hostsFile, caFile: context.caFile, skeleton });
    // The engine would create new volumes in place of removed ones.
    const run = await request.containerReady;
    if (!isSeen) held = await request.sendMounts(held);
    const image = command.image === undefined ? context.image : await context.findImage(command.image);
    const [programs, cache] = await Promise.all([
      command.needsPrograms === true ? context.findPrograms(image) : undefined,
      context.openCache({ command, imageId: image.id, options }),
    ]);
    const body = toBody(request, { held, image, programs, cache });
    return {
      request,
      body,
      held,
      // Read before a container is created, since that takes the host's mounts later.
      key: sandboxKey({ body: { ...body, Labels: omitCreated(body.Labels) }, held, skeleton }),
      networkRun: network.mode.startsWith("container:") ? run : undefined,
      keepCovers() {
        isKept = true;
        return removeCovers;
      },
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

type BodyParts = {
  readonly held: HeldMounts;
  readonly image: SandboxImage;
  /** The mount of the agents' programs, if the image lacks them */
  readonly programs: VolumeMount | undefined;
  readonly cache: VolumeMount | undefined;
};

function toBody(request: SandboxRequest, { cache, held, image, programs }: BodyParts): ContainerCreateOptions {
  const { command, context, network, options, services, session } = request;
  const { caFile, callerGroups, engine, owner, runtime, user } = context;
  const shared = [programs, cache, services?.mount].filter((mount) => mount !== undefined);
  const mounts = [...held.mounts.map(({ settings }) => settings), ...shared];
  return toSandboxContainer({
    imageId: image.id,
    strayVariables: image.strayVariables,
    user,
    extraGroups: listExtraGroups(held.workspace.gid, user, callerGroups),
    mounts: [...mounts, ...coverVolumes(image.volumes, mounts)],
    variables: buildImageVariables(image, context.image, { programs, tools: cache && command.cache?.tools }),
    workspacePath: held.workspacePath,
    network: network.mode,
    forwarder: network.forwarder?.command,
    services,
    caFile,
    limits: chooseLimits(context, options),
    seccomp: context.ensureSeccomp(),
    hasUlimits: !engine.protections.some((protection) => protection.name === "ulimits"),
    runtime,
    labels: toLabels(owner.record, session, "turn"),
  });
}

type Shared = { readonly programs: VolumeMount | undefined; readonly tools: readonly CacheTool[] | undefined };

/** Builds the variables that name the programs beside an image, Kiro's unpacked V3, and the folders of a cache. */
function buildImageVariables(image: SandboxImage, own: SandboxImage, { programs, tools }: Shared) {
  const runtimeDir = (programs === undefined ? image : own).runtimeDir;
  // A project's image may not direct Kiro to a folder in which a repository could have put its own V3.
  const isSafe = programs !== undefined || image.id === own.id || runtimeDir?.startsWith(`${PROGRAMS}/`) === true;
  return {
    ...cacheEnvironment(tools),
    ...(programs === undefined ? {} : { PATH: addPrograms(image.path) }),
    ...(runtimeDir !== undefined && isSafe ? { KIRO_RUNTIME_DIR: runtimeDir } : {}),
  };
}

// As /tmp has.
const VOLUME_BYTES = 512 * 1024 ** 2;

/** Returns a mount in memory for each of an image's volumes: the engine would create one on its disk, which has no limit. */
function coverVolumes(volumes: readonly string[], mounts: readonly MountSettings[]): readonly ContainerMount[] {
  const taken = new Set(["/tmp", "/var/tmp", ...mounts.map(({ target }) => target)]);
  return volumes.filter((path) => !taken.has(path)).map((target) => ({ type: "memory", target, bytes: VOLUME_BYTES }));
}

/** Chooses the limits of a sandbox: those that it was asked for, as far as the machine has that much, or else the runner's own. */
export function chooseLimits(
  { engine, limits }: Pick<SandboxContext, "engine" | "limits">,
  { access }: StartOptions,
): Limits {
  const { cpus, memoryBytes } = engine;
  const asked = { ...limits, ...access?.limits };
  return {
    ...asked,
    memoryBytes: Math.min(asked.memoryBytes, memoryBytes),
    cpus: Math.min(asked.cpus, cpus),
    tmpBytes: Math.min(asked.tmpBytes, memoryBytes),
  };
}
