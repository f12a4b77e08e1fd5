import {
  BudgieError,
  DEFAULT_ACCESS,
  type Command,
  type DiskReport,
  type RunnerSession,
  type SessionId,
  type StartOptions,
} from "@budgie/core";
import { API_LIMIT_MS, withTimeout } from "./engine/time-limits.ts";
import { SANDBOX } from "./sandbox/container-options.ts";
import { translated } from "./engine/docker-errors.ts";
import { createHomeArchive } from "./container-files/create-home-archive.ts";
import { createHomeFiles } from "./container-files/home-files.ts";
import { createHomeSeeds } from "./container-files/home-seeds.ts";
import { openWithoutLogin, type Login, type LoginNeed } from "./login/login.ts";
import type { SandboxContext } from "./session/sandbox-context.ts";
import { createSessionEgress, type TurnNetwork } from "./session/session-network.ts";
import {
  createHome,
  removeContainers,
  removeVolumes,
  resumeHome,
  toVolumes,
  type HomeOrigin,
} from "./session/session-volumes.ts";
import { toWhileRunning } from "./session/while-running.ts";
import { toUnverified } from "./engine/pending-removals.ts";
import type { PlaceAhead } from "./ahead/place-ahead.ts";
import { launchAhead, startTurn } from "./turn/start-turn.ts";
import type { LaunchedTurn, TurnLaunch } from "./turn/turn-launch.ts";
import type { TurnProcess } from "./turn/turn-process.ts";

/** A session of this process, which another process can resume later. */
export type DockerSession = RunnerSession & {
  /** Starts what a session's first turn would wait for, as far as it does not depend on that turn. */
  warmUp(): Promise<void>;
  /** Stops its processes and removes everything but its home, from which the login is removed unless `signal` aborts first. */
  suspend(signal: AbortSignal): Promise<void>;
};

export type DockerSessionParts = {
  readonly id: SessionId;
  readonly origin: HomeOrigin;
  /** The place of the container that its next turn takes */
  readonly nextTurn: PlaceAhead<LaunchedTurn>;
};

/** Creates a session with its volumes and its container. */
export async function createDockerSession(
  context: SandboxContext,
  { id, nextTurn, origin }: DockerSessionParts,
): Promise<DockerSession> {
  const { docker, pendingRemovals } = context.engine;
  const volumes = toVolumes(context, id, origin);
  const openHome = origin === "kept" ? resumeHome : createHome;
  const translate = <T>(call: Promise<T>): Promise<T> => translated(call, context.image.name);
  const proxySocket = await translate(context.proxySockets.reserve());
  const sessionContainer = await translate(openHome(context, { session: id, volumes, proxySocket }));
  const { idleContainers, visibility } = context;
  // Other runtimes' containers may not reach a socket of this kernel.
  const runsForwarder = context.runtime === undefined;
  const egress = createSessionEgress({ sessionContainer, proxySocket, idleContainers, runtime: context.runtime });
  // For a path in a volume, Podman reports the target of its symlinks, so budgie has to look into the running container.
  const whileRunning = context.engine.name === "Podman" ? toWhileRunning(sessionContainer, context) : undefined;
  const { lookInto } = context;
  const archive = createHomeArchive({ ...sessionContainer, lookInto, whileRunning }, context.user);
  // No agent has used a new home.
  let visited = origin === "kept";
  const files = createHomeFiles(sessionContainer.handle, archive);
  const seeds = createHomeSeeds();
  const home = { archive, scratchDir: context.scratchDir, exists: visited };
  const login = context.login?.open(home) ?? openWithoutLogin(home);
  let heldBytes = visited ? undefined : 0;
  const starting = new Set<Promise<unknown>>();
  const running = new Set<TurnProcess>();
  const finishing = new Set<Promise<void>>();
  const removed = new AbortController();

  const launching = {
    context,
    session: id,
    volumes,
    decideVisibility: () => visibility.decide(sessionContainer),
    async checkMountPoints(paths: readonly string[]): Promise<void> {
      if (visited) await archive.checkMountPoints(paths);
    },
  };

  async function start(command: Command, options: StartOptions): Promise<TurnProcess> {
    removed.signal.throwIfAborted();
    const containerReady = sessionContainer.ensure();
    // A start that fails before it awaits this would leave the rejection unhandled.
    containerReady.catch(() => undefined);
    const over = [removed.signal, ...(options.signal === undefined ? [] : [options.signal])];
    const prepareHome = async (): Promise<void> => {
      await containerReady;
      // A new home is filled through the session's container. The turn's container waits for it too, and reports a failure.
      if (!visited) await network.joinable.catch(() => undefined);
      const need = running.size === 0 ? toLoginNeed(command, context.login) : "none";
      await seeds.fill(command, (entries) => login.prepare(need, AbortSignal.any(over), entries));
      // The previous turn's container is removed before the next agent starts, above all before a retry.
      await lastTurnsGone();
    };
    const network = egress.join((options.access ?? DEFAULT_ACCESS).egress, options.alone === true && runsForwarder);
    const turn = { ...launching, command, options, network, containerReady };
    const child = await startTurn({ ...turn, heldBytes, prepareHome, takeAhead: nextTurn.take }).catch(
      async (error: unknown) => {
        pendingRemovals.suspect(error);
        await network.close();
        throw error;
      },
    );
    visited = true;
    running.add(child);
    void child.disk?.then((report) => (heldBytes = report?.homeBytes));
    const finish = (): void => {
      running.delete(child);
      finishing.add(child.gone);
      void child.gone.then(() => finishing.delete(child.gone));
    };
    child.exit.then(finish, finish);
    void Promise.all([child.exit, child.gone]).then(
      ([{ reason }]) => reason === undefined && prepareNext(turn),
      () => undefined,
    );
    const closeNetwork = (): ReturnType<TurnNetwork["close"]> => network.close();
    const report = child.exit.then(closeNetwork, closeNetwork);
    const living = { ...child, takeDisk, isCurrent };
    return network.isWatched ? { ...living, egress: report, takeEgress: () => network.take() } : living;

    async function takeDisk(): Promise<DiskReport | undefined> {
      const taken = await child.takeDisk?.();
      heldBytes = taken?.homeBytes;
      return taken;
    }

    async function isCurrent(): Promise<boolean> {
      return login.isCurrent(toLoginNeed(command, context.login));
    }
  }

  /** Prepares the container of another turn like this one, unless a turn runs. */
  function prepareNext({ network: { forwarder, mode }, options, ...turn }: Omit<TurnLaunch, "ahead">): void {
    // On the bridge, the engine writes the host's name servers into a container at its start.
    if (starting.size + running.size > 0 || mode === "bridge") return;
    const { access, directory, protectedPaths } = options;
    const network = { mode, forwarder, joinable: Promise.resolve() };
    const ahead = { ...turn, network, options: { access, directory, protectedPaths, signal: removed.signal } };
    nextTurn.prepare(async () =>
      launchAhead({ ...ahead, containerReady: Promise.resolve(await sessionContainer.ensure()) }),
    );
  }

  async function warmUp(): Promise<void> {
    idleContainers.acquire(sessionContainer);
    try {
      await Promise.all([sessionContainer.start(), egress.open()]);
      await visibility.decide(sessionContainer);
    } finally {
      idleContainers.release(sessionContainer);
    }
  }

  async function stop(): Promise<void> {
    removed.abort(sessionEnded(id));
    // A process that is just starting would use the volumes after their removal.
    await Promise.allSettled(starting);
    await Promise.all([nextTurn.close(), ...[...running].map((child) => child.stop("shutdown"))]);
  }

  async function lastTurnsGone(): Promise<void> {
    await withTimeout(Promise.all(finishing), API_LIMIT_MS).catch((cause: unknown) => {
      throw toUnverified(cause);
    });
  }

  async function removeResources(lostVolumes: readonly string[]): Promise<void> {
    await egress.close();
    await removeContainers(docker, id);
    await removeVolumes(docker, lostVolumes);
  }

  /** Removes the session. A second attempt goes straight to the engine, since no process runs here any more. */
  async function remove(): Promise<void> {
    const attempt = async (): Promise<void> => {
      await stop();
      await removeResources([volumes.home.name, volumes.auth.name]);
    };
    await pendingRemovals.remove(attempt).firstAttempt;
  }

  async function suspend(signal: AbortSignal): Promise<void> {
    await stop();
    const cleared = seeds.toCleared();
    // A login that cannot be removed must not keep the rest from being removed.
    if (cleared.length > 0) await archive.write(cleared).catch(() => undefined);
    await login.clear(signal).catch(() => undefined);
    await removeResources([volumes.auth.name]);
  }

  return {
    id,
    ...(proxySocket.isHere ? { serve: egress.serve } : {}),
    paths: () => ({ workspace: SANDBOX.workspace, home: SANDBOX.home }),
    start(command, options) {
      const started = translate(start(command, options));
      starting.add(started);
      return started.finally(() => starting.delete(started));
    },
    readFile: (path) => translate(files.read(path)),
    appendFile: (path, text) => translate(files.append(path, text)),
    warmUp: () => translate(warmUp()),
    remove: () => translate(remove()),
    suspend: (signal) => translate(suspend(signal)),
  };
}

function toLoginNeed({ env, login: name }: Command, login: Login | undefined): LoginNeed {
  if (name === undefined) return "none";
  if (login?.name === name) return login.toNeed(env);
  throw new BudgieError(
    "LOGIN_REQUIRED",
    `The command needs the login ${JSON.stringify(name)}, which this runner was not given. Give it as the option "login".`,
  );
}

function sessionEnded(id: SessionId): BudgieError {
  return new BudgieError("SESSION_NOT_FOUND", `The session "${id}" has ended. Leave its id out to begin a new one.`);
}
