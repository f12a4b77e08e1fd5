import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import type Docker from "dockerode";
import {
  BudgieError,
  DEFAULT_ACCESS,
  type Command,
  type Limits,
  type SessionId,
  type StartOptions,
} from "@budgie/core";
import { timeLimit } from "../engine/time-limits.ts";
import { attach } from "../engine/attach.ts";
import { toTurnContainer } from "../sandbox/container-options.ts";
import { createContainer } from "../engine/create-container.ts";
import { toBudgieError } from "../engine/docker-errors.ts";
import { openConfirmedRoot, type LookOptions } from "./open-confirmed-root.ts";
import { toInitInput } from "../sandbox/init-script.ts";
import { toLabels } from "../engine/labels.ts";
import type { MountedFiles } from "../sandbox/mounted-files.ts";
import { holdTurnMounts, type HeldMounts, type SessionVolumes } from "../sandbox/mounts.ts";
import { toExtraGroups } from "../sandbox/sandbox-user.ts";
import type { SandboxContext } from "../session/sandbox-context.ts";
import { toSeccomp } from "../sandbox/seccomp-profile.ts";
import type { TurnNetwork } from "../session/session-network.ts";
import { removeContainer } from "../engine/remove-container.ts";
import { createTurnProcess, type StartedTurn, type TurnProcess } from "./turn-process.ts";

export type TurnStart = {
  readonly context: SandboxContext;
  readonly session: SessionId;
  readonly volumes: SessionVolumes;
  readonly command: Command;
  readonly options: StartOptions;
  readonly network: TurnNetwork;
  /** Decides whether a container that cannot be looked into is refused */
  readonly decideVisibility: () => Promise<boolean>;
  /** Size of the home after the last turn; `undefined` if unknown */
  readonly heldBytes: number | undefined;
  /** Resolves when the session's container, and so its volumes, are known to exist */
  readonly containerReady: Promise<unknown>;
  /** Fills the session's home while the container starts */
  readonly prepareHome: () => Promise<void>;
  /** Throws if a mount point in the home is a symlink */
  readonly checkMountPoints: (paths: readonly string[]) => Promise<void>;
};

/**
 * Starts a turn's container, and fills the home in parallel: the container waits for its first line of stdin. If it fails or is
 * cancelled, no container is left behind.
 */
export async function startTurn(turn: TurnStart): Promise<TurnProcess> {
  const { context, options } = turn;
  refuseCancelled(options.signal);
  const preparing = Promise.all([turn.prepareHome(), turn.network.guarded, options.ready]);
  const [launched, prepared] = await Promise.allSettled([
    context.starting(() => launch(turn).catch((error: unknown) => relaunch(turn, error))),
    preparing,
  ]);
  const imageName = turn.command.image ?? context.image.name;
  if (launched.status === "rejected") throw toBudgieError(launched.reason, imageName);
  const token = randomUUID();
  const child = createTurnProcess({
    ...launched.value,
    pendingRemovals: context.engine.pendingRemovals,
    heldBytes: turn.heldBytes,
    diskBytes: toLowerLimits(context.limits, options.access?.limits ?? {}).diskBytes,
    token,
  });
  void child.gone.then(() => removeSkeleton(launched.value.skeleton));
  if (prepared.status === "rejected" || options.signal?.aborted === true) {
    await child.stop("cancelled");
    refuseCancelled(options.signal);
    throw toBudgieError(prepared.status === "rejected" ? prepared.reason : undefined, imageName);
  }
  launched.value.socket.write(toInitInput(options.input, token));
  return stopOnAbort(options.signal, options.input === undefined ? child : { ...child, stdin: endedInput() });
}

type Launched = Pick<StartedTurn, "container" | "root" | "socket"> & { readonly skeleton: string };

async function launch(turn: TurnStart): Promise<Launched> {
  refuseCancelled(turn.options.signal);
  const skeleton = join(turn.context.scratchDir, `turn-${randomUUID()}`);
  try {
    const files = turn.context.ensureMountedFiles(turn.command.env);
    await using held = await holdMounts(turn, { ...files, skeleton });
    return { ...(await launchWith(turn, held, files.seccompFile)), skeleton };
  } catch (error) {
    await removeSkeleton(skeleton);
    throw error;
  }
}

async function launchWith(turn: TurnStart, held: HeldMounts, seccompFile: string): Promise<Omit<Launched, "skeleton">> {
  const { container, visibility } = await createTurnContainer(turn, held, seccompFile);
  try {
    // Podman prepares a container when one attaches to it, and the session's container has to run by then.
    await turn.network.joinable;
    const socket = await attach(turn.context.engine.endpoint.address, container.id);
    try {
      refuseCancelled(turn.options.signal);
      await container.start(timeLimit());
      return { container, socket, root: await openConfirmedRoot(container, held, visibility) };
    } catch (error) {
      socket.destroy();
      throw error;
    }
  } catch (error) {
    await discard(turn, container, error);
    throw error;
  }
}

/** Launches the container once more if somebody removed the session's container, whose network it joins, in the meantime. */
async function relaunch(turn: TurnStart, error: unknown): Promise<Launched> {
  if (error instanceof BudgieError || !(await turn.network.restore())) throw error;
  return launch(turn);
}

async function holdMounts(
  { command, context, network, options, volumes }: TurnStart,
  files: MountedFiles & { readonly skeleton: string },
): Promise<HeldMounts> {
  const { access = DEFAULT_ACCESS, directory: workspace, protectedPaths = [] } = options;
  return holdTurnMounts({
    volumes,
    workspace,
    workspaceMode: access.workspace,
    protectedPaths: access.workspace === "ro" ? [] : protectedPaths,
    projections: command.projections,
    hidden: command.hidden,
    ...files,
    caFile: context.caFile,
    network: network.mode,
  });
}

// If this fails, the folder is removed with the runner's other scratch files.
async function removeSkeleton(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true }).catch(() => undefined);
}

type Created = { readonly container: Docker.Container; readonly visibility: LookOptions };

async function createTurnContainer(turn: TurnStart, held: HeldMounts, seccompFile: string): Promise<Created> {
  const { command, context, network, options, session } = turn;
  const { caFile, callerGroups, engine, image, limits, lookInto, owner, runtime, user } = context;
  // The engine would create new volumes in place of removed ones.
  await turn.containerReady;
  const mounts = held.mounts.map(({ settings }) => settings);
  const body = toTurnContainer({
    imageId: (command.image === undefined ? image : await context.findImage(command.image)).id,
    command,
    user,
    extraGroups: toExtraGroups(held.workspace.gid, user, callerGroups),
    mounts,
    network: network.mode,
    caFile,
    limits: toLowerLimits(limits, options.access?.limits ?? {}),
    seccomp: toSeccomp(engine, seccompFile),
    hasUlimits: !engine.protections.some((protection) => protection.name === "ulimits"),
    runtime,
    labels: toLabels(owner.record, session, "turn"),
  });
  const name = `budgie-turn-${session.slice(0, 8)}-${randomUUID().slice(0, 8)}`;
  const [created, checked] = await Promise.allSettled([
    createContainer(engine, name, body),
    Promise.all([
      turn.decideVisibility(),
      // Before the start, at which the engine mounts.
      turn.checkMountPoints(mounts.map(({ Target }) => Target)),
    ]),
  ]);
  if (created.status === "rejected") throw created.reason;
  if (checked.status === "fulfilled") {
    return { container: created.value, visibility: { lookInto, isRequired: checked.value[0] } };
  }
  await discard(turn, created.value, checked.reason);
  throw checked.reason;
}

/** Removes an unused container. Throws if the removal is not confirmed. */
async function discard({ context }: TurnStart, container: Docker.Container, why: unknown): Promise<void> {
  const { pendingRemovals } = context.engine;
  pendingRemovals.suspect(why);
  await pendingRemovals.remove(() => removeContainer(container)).firstAttempt;
}

function toLowerLimits(own: Limits, asked: Partial<Limits>): Limits {
  return {
    memoryBytes: Math.min(own.memoryBytes, asked.memoryBytes ?? Infinity),
    cpus: Math.min(own.cpus, asked.cpus ?? Infinity),
    pids: Math.min(own.pids, asked.pids ?? Infinity),
    diskBytes: Math.min(own.diskBytes, asked.diskBytes ?? Infinity),
  };
}

function refuseCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new BudgieError("CANCELLED", "The turn was cancelled before its agent ran.");
}

function stopOnAbort(signal: AbortSignal | undefined, child: TurnProcess): TurnProcess {
  if (signal === undefined) return child;
  // `exit` reports the outcome. If the stop fails, garbage collection removes the container.
  const stop = (): void => void child.stop("cancelled").catch(() => undefined);
  signal.addEventListener("abort", stop, { once: true });
  const forget = (): void => signal.removeEventListener("abort", stop);
  child.exit.then(forget, forget);
  return child;
}

/** Creates an ended stdin: the connection stays open as the turn's lease, and the agent gets no more input. */
function endedInput(): PassThrough {
  return new PassThrough().end();
}
