import { randomUUID } from "node:crypto";
import type Docker from "dockerode";
import pLimit from "p-limit";
import { BudgieError, type SessionId } from "@budgie/core";
import type { ProxySocket } from "@budgie/sandbox/egress";
import { listSessionMounts, type Volumes } from "@budgie/sandbox/mounts";
import { timeLimit } from "../engine/with-timeout.ts";
import { toSessionContainer } from "../sandbox/container-options.ts";
import { ignoreMissing, statusOf } from "../engine/to-budgie-error.ts";
import { findOwn, isBeingRemoved, type OwnPlace } from "../engine/find-own.ts";
import { ensureSessionImage } from "../image/ensure-session-image.ts";
import { parseLabels, toLabels } from "../engine/to-labels.ts";
import type { ContainerRun } from "../container-files/open-container-root.ts";
import type { SandboxContext } from "./sandbox-context.ts";
import { createContainer } from "../engine/create-container.ts";
import { removeContainer } from "../engine/remove-container.ts";

/** A session's container: its volumes are read and written through it, and turns join its network. */
export type SessionContainer = {
  /** dockerode's handle of it, by name, since the container may be created again */
  readonly handle: Docker.Container;
  readonly name: string;
  /**
   * Creates it again if somebody removed it, and resolves to an id of its current run, or to `undefined` if it does not run. Throws
   * `SESSION_UNUSABLE` if the volumes were removed too.
   */
  ensure(): Promise<string | undefined>;
  /** Starts it unless it runs. */
  start(): Promise<void>;
  /** Kills its process, and keeps the container. */
  stop(): Promise<void>;
  isRunning(): Promise<boolean>;
  /** Resolves once the calls so far have ended, of which one may be creating it with the session's volumes */
  settled(): Promise<void>;
  /** The run that was seen just now; `undefined` if none was */
  readonly lastRun: () => ContainerRun | undefined;
  /**
   * Passes the container to `use` if it runs. Otherwise passes a copy that never runs, and removes it afterwards: an
   * engine blocks archive calls while a container starts.
   */
  lend(use: (container: Docker.Container) => Promise<void>): Promise<void>;
};

export type ContainerParts = {
  readonly session: SessionId;
  readonly volumes: Volumes;
  readonly proxySocket: ProxySocket;
};

/** Creates a session's container without starting it. */
export async function createSessionContainer(
  context: SandboxContext,
  parts: ContainerParts,
): Promise<SessionContainer> {
  const { docker, pendingRemovals } = context.engine;
  const name = `budgie-session-${parts.session}`;
  const place: OwnPlace = { docker, name, labels: toLabels(context.owner.record, parts.session, "session") };
  // Serializes the stop of an idle container and its start for the next turn.
  const inTurn = pLimit(1);
  // Its id, by which it is started and stopped: another program's container may have taken its name.
  let id = (await inTurn(() => makeContainer(context, name, parts))).id;
  let isRunning = false;
  let seen: (ContainerRun & { readonly atMs: number }) | undefined;

  function note(found: Docker.ContainerInspectInfo | undefined): boolean {
    const isUp = found?.State.Running === true;
    seen = isUp ? { id: found.Id, pid: found.State.Pid, atMs: performance.now() } : undefined;
    return isUp;
  }

  const lastRun = (): ContainerRun | undefined =>
    seen !== undefined && performance.now() - seen.atMs < JUST_MS ? seen : undefined;

  async function ensure(): Promise<string | undefined> {
    const found = await findThere(place);
    isRunning = note(found);
    if (found !== undefined) {
      id = found.Id;
      return isRunning ? `${id} ${found.State.StartedAt}` : undefined;
    }
    const made = await makeContainer(context, name, parts);
    try {
      // Checked afterwards, since the new container keeps the volumes from being removed.
      await refuseLostVolumes(docker, parts);
    } catch (error) {
      await pendingRemovals.remove(() => removeContainer(made)).firstAttempt;
      throw error;
    }
    id = made.id;
    return undefined;
  }

  async function start(): Promise<void> {
    // A turn that begins has just looked.
    if (lastRun() !== undefined) return;
    if (!(await startIfThere(docker.getContainer(id)))) {
      await ensure();
      await docker.getContainer(id).start(timeLimit());
    }
    isRunning = true;
  }

  async function stop(): Promise<void> {
    isRunning = false;
    seen = undefined;
    await killContainer(docker.getContainer(id));
  }

  async function lend(use: (container: Docker.Container) => Promise<void>): Promise<void> {
    if (isRunning) return use(docker.getContainer(id));
    const copy = await makeContainer(context, `${name}-copy-${randomUUID().slice(0, 8)}`, parts);
    try {
      await use(copy);
    } catch (error) {
      pendingRemovals.suspect(error);
      throw error;
    } finally {
      await pendingRemovals.remove(() => removeContainer(copy)).firstAttempt;
    }
  }

  return {
    handle: docker.getContainer(name),
    name,
    ensure: () => inTurn(ensure),
    start: () => inTurn(start),
    stop: () => inTurn(stop),
    isRunning: () => inTurn(async () => note(await findThere(place))),
    settled: () => inTurn(async () => undefined),
    lastRun,
    lend,
  };
}

const JUST_MS = 1000;

/**
 * Finds the session's container. Throws `RUNNER_UNAVAILABLE` if another container has its name, since a turn would join that one's network.
 */
async function findThere(place: OwnPlace): Promise<Docker.ContainerInspectInfo | undefined> {
  const facts = await findOwn(place);
  return facts === undefined || isBeingRemoved(facts.State) ? undefined : facts;
}

/** Starts a container without checking first if it runs; `false` if it does not exist. */
async function startIfThere(container: Docker.Container): Promise<boolean> {
  try {
    await container.start(timeLimit());
    return true;
  } catch (error) {
    if (statusOf(error) === 304) return true;
    ignoreMissing(error);
    return false;
  }
}

async function makeContainer(
  { engine, ensureSeccomp, owner, user }: SandboxContext,
  name: string,
  { proxySocket, session, volumes }: ContainerParts,
): Promise<Docker.Container> {
  const body = toSessionContainer({
    imageId: await ensureSessionImage(engine, user),
    user,
    mounts: [...listSessionMounts(volumes), proxySocket.mount],
    socketPath: proxySocket.socketPath,
    seccomp: ensureSeccomp(),
    labels: toLabels(owner.record, session, "session"),
  });
  return createContainer(engine, name, body);
}

/**
 * Throws if the volumes were removed together with the container. The engine has since created empty ones, for this container or another
 * one.
 */
async function refuseLostVolumes(docker: Docker, { session, volumes }: ContainerParts): Promise<void> {
  const names = [volumes.home.name, volumes.auth.name];
  const found = await Promise.all(
    names.map((name) => docker.getVolume(name).inspect(timeLimit()).catch(ignoreMissing)),
  );
  const facts = found.map((volume) => parseLabels(volume?.Labels));
  // Podman gives no labels to volumes that it creates for a mount.
  if (facts.every(({ isMadeForMount, role }) => role !== "" && !isMadeForMount)) return;
  throw new BudgieError(
    "SESSION_UNUSABLE",
    `The volumes of session "${session}" were removed by somebody else. Begin a new session.`,
  );
}

async function killContainer(container: Docker.Container): Promise<void> {
  await container.kill(timeLimit()).catch((error: unknown) => {
    // 409: it is not running.
    if (statusOf(error) !== 409) ignoreMissing(error);
  });
}
