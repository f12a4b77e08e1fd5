import { randomUUID } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import type Docker from "dockerode";
import type { ContainerCreateOptions } from "dockerode";
import { BudgieError } from "@budgie/core";
import { timeLimit } from "../engine/time-limits.ts";
import { attach } from "../engine/attach.ts";
import { createContainer } from "../engine/create-container.ts";
import { toBudgieError } from "../engine/docker-errors.ts";
import { toTurnFacts } from "../ahead/turn-facts.ts";
import { confirmMounts } from "./confirm-mounts.ts";
import { openConfirmedRoot, type LookOptions } from "./open-confirmed-root.ts";
import { toInitInput } from "../sandbox/init-script.ts";
import { holdTurnMounts, type HeldMounts } from "../sandbox/mounts.ts";
import type { SandboxContext } from "../session/sandbox-context.ts";
import type { TurnNetwork } from "../session/session-network.ts";
import { removeContainer } from "../engine/remove-container.ts";
import { toLowerLimits, toTurnBody, toTurnMounts, type LaunchedTurn, type TurnLaunch } from "./turn-launch.ts";
import { createTurnProcess, type StartedTurn, type TurnProcess } from "./turn-process.ts";

export type TurnStart = TurnLaunch & {
  readonly network: TurnNetwork;
  /** Size of the home after the last turn; `undefined` if unknown */
  readonly heldBytes: number | undefined;
  /** Fills the session's home while the container starts */
  readonly prepareHome: () => Promise<void>;
  /** Takes the container that was made for this turn before its call */
  readonly takeAhead: () => TurnLaunch["ahead"];
};

/**
 * Starts a turn's container, and fills the home in parallel: the container waits for its first line of stdin. If it fails or is
 * cancelled, no container is left behind.
 */
export async function startTurn(asked: TurnStart): Promise<TurnProcess> {
  const { context, options } = asked;
  refuseCancelled(options.signal);
  const token = randomUUID();
  const input = toInitInput(asked.command, options.input, token);
  const turn = { ...asked, ahead: asked.takeAhead() };
  const preparing = Promise.all([turn.prepareHome(), turn.network.guarded, options.ready]);
  const [launched, prepared] = await Promise.allSettled([
    context.starting(() => launch(turn).catch((error: unknown) => relaunch(turn, error))),
    preparing,
  ]);
  discardUnused(turn.ahead, launched);
  const imageName = turn.command.image ?? context.image.name;
  if (launched.status === "rejected") throw toBudgieError(launched.reason, imageName);
  const child = createTurnProcess({
    ...launched.value,
    pendingRemovals: context.engine.pendingRemovals,
    heldBytes: turn.heldBytes,
    diskBytes: toLowerLimits(context.limits, options.access?.limits ?? {}).diskBytes,
    token,
  });
  void child.gone.then(() => removeSkeleton(launched.value.skeleton));
  await child.ready;
  if (prepared.status === "rejected" || options.signal?.aborted === true) {
    await child.stop("cancelled");
    refuseCancelled(options.signal);
    throw toBudgieError(prepared.status === "rejected" ? prepared.reason : undefined, imageName);
  }
  launched.value.socket.write(input);
  return stopOnAbort(options.signal, options.input === undefined ? child : { ...child, stdin: endedInput() });
}

/** Removes the container that was made before the call, unless the turn took it. */
function discardUnused(ahead: TurnLaunch["ahead"], launched: PromiseSettledResult<LaunchedTurn>): void {
  const used = launched.status === "fulfilled" ? launched.value : undefined;
  ahead?.then((made) => (made === used ? undefined : made?.discard())).catch(() => undefined);
}

/** Makes the container of a turn before its call. Rejects unless budgie can look into it. */
export async function launchAhead(turn: TurnLaunch): Promise<LaunchedTurn> {
  const launched = (await turn.decideVisibility())
    ? await launch({ ...turn, ahead: Promise.resolve(undefined) })
    : undefined;
  if (launched?.root !== undefined) return launched;
  await launched?.discard();
  throw new BudgieError(
    "RUNNER_UNAVAILABLE",
    "The container of a turn cannot be looked into, so none is made before its call.",
  );
}

/** Takes the container that was prepared for the turn if the turn would create the same one now; otherwise creates one. */
async function launch(turn: TurnLaunch): Promise<LaunchedTurn> {
  const { ahead, command, context, network, options } = turn;
  refuseCancelled(options.signal);
  // What a turn is shown is readable to all, so the folder around it is not.
  await mkdir(context.scratchDir, { recursive: true, mode: 0o700 });
  const skeleton = join(context.scratchDir, `turn-${randomUUID()}`);
  try {
    const files = context.ensureMountedFiles(command.env);
    await using held = await holdTurnMounts(toTurnMounts(turn, { ...files, skeleton }));
    // The engine would create new volumes in place of removed ones.
    const run = await turn.containerReady;
    const image = command.image === undefined ? context.image : await context.findImage(command.image);
    const body = toTurnBody(turn, { held, image });
    const networkRun = network.mode.startsWith("container:") ? run : undefined;
    // Read before the container is created, since its mounts are taken later.
    const facts = ahead && toTurnFacts({ body, held, skeleton, networkRun });
    const made = await ahead;
    if (made !== undefined && made.facts === facts && (await isIntact(made, held))) {
      void removeSkeleton(skeleton);
      return made;
    }
    return toLaunched(context, { ...(await launchWith(turn, held, body)), mounts: held.mounts, facts, skeleton });
  } catch (error) {
    await removeSkeleton(skeleton);
    throw error;
  }
}

/** Checks a container that has waited like one that was just started. */
async function isIntact({ mounts, root, socket }: LaunchedTurn, held: HeldMounts): Promise<boolean> {
  if (root === undefined || socket.destroyed) return false;
  return confirmMounts({ ...held, mounts }, root).then(
    () => true,
    () => false,
  );
}

type Attached = Pick<StartedTurn, "container" | "root" | "socket">;

async function launchWith(turn: TurnLaunch, held: HeldMounts, body: ContainerCreateOptions): Promise<Attached> {
  const { container, visibility } = await createTurnContainer(turn, held, body);
  try {
    // Podman prepares a container when a client attaches to it, and the session's container has to run by then.
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
    await discard(turn.context, container, error);
    throw error;
  }
}

function toLaunched(context: SandboxContext, launched: Omit<LaunchedTurn, "discard">): LaunchedTurn {
  const { container, root, skeleton, socket } = launched;
  return {
    ...launched,
    async discard() {
      socket.destroy();
      try {
        await context.engine.pendingRemovals.remove(() => removeContainer(container)).firstAttempt;
      } finally {
        await root?.[Symbol.asyncDispose]();
        await removeSkeleton(skeleton);
      }
    },
  };
}

/** Launches the container once more if the session's container, whose network it joins, was stopped or removed meanwhile. */
async function relaunch(turn: TurnStart, error: unknown): Promise<LaunchedTurn> {
  if (error instanceof BudgieError || !(await turn.network.restore())) throw error;
  return launch(turn);
}

// If this fails, the folder is removed with the runner's other scratch files.
async function removeSkeleton(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true }).catch(() => undefined);
}

type Created = { readonly container: Docker.Container; readonly visibility: LookOptions };

async function createTurnContainer(
  turn: TurnLaunch,
  { mounts }: HeldMounts,
  body: ContainerCreateOptions,
): Promise<Created> {
  const { context, session } = turn;
  const { engine, lookInto } = context;
  const name = `budgie-turn-${session.slice(0, 8)}-${randomUUID().slice(0, 8)}`;
  const [created, checked] = await Promise.allSettled([
    createContainer(engine, name, body),
    Promise.all([
      turn.decideVisibility(),
      // Checked before the start, when the engine mounts them.
      turn.checkMountPoints(mounts.map(({ settings }) => settings.Target)),
    ]),
  ]);
  if (created.status === "rejected") throw created.reason;
  if (checked.status === "fulfilled") {
    return { container: created.value, visibility: { lookInto, isRequired: checked.value[0] } };
  }
  await discard(context, created.value, checked.reason);
  throw checked.reason;
}

/** Removes an unused container. Throws if the removal is not confirmed. */
async function discard({ engine }: SandboxContext, container: Docker.Container, why: unknown): Promise<void> {
  const { pendingRemovals } = engine;
  pendingRemovals.suspect(why);
  await pendingRemovals.remove(() => removeContainer(container)).firstAttempt;
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
