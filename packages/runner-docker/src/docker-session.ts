import {
  BudgieError,
  DEFAULT_ACCESS,
  isHomePath,
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
import type { HomeArchive } from "./container-files/home-archive.ts";
import { createHomeSeeds } from "./container-files/home-seeds.ts";
import { openWithoutLogin, type Login, type LoginNeed } from "./login/login.ts";
import { readHomeFile } from "./container-files/read-home-file.ts";
import type { SandboxContext } from "./session/sandbox-context.ts";
import type { SessionContainer } from "./session/session-container.ts";
import { createSessionEgress, type TurnNetwork } from "./session/session-network.ts";
import { createHome, removeContainers, removeVolumes, resumeHome, toVolumes } from "./session/session-volumes.ts";
import { toUnverified } from "./engine/pending-removals.ts";
import { startTurn } from "./turn/start-turn.ts";
import type { TurnProcess } from "./turn/turn-process.ts";

const LARGEST_ANSWER_BYTES = 4 * 1024 * 1024;
const LARGEST_LOG_BYTES = 64 * 1024 * 1024;

/** A session of this process, which another process can resume later. */
export type DockerSession = RunnerSession & {
  /** Stops its processes and removes everything but its home, from which the login is removed unless `signal` aborts before. */
  suspend(signal: AbortSignal): Promise<void>;
};

/** The origin of a session's home: a new one, or the one that its last owner kept. */
export type HomeOrigin = "new" | "kept";

/** Creates a session with its volumes and its container. */
export async function createDockerSession(
  context: SandboxContext,
  id: SessionId,
  origin: HomeOrigin = "new",
): Promise<DockerSession> {
  const { docker, pendingRemovals } = context.engine;
  const volumes = toVolumes(context, id);
  const openHome = { new: createHome, kept: resumeHome }[origin];
  const translate = <T>(call: Promise<T>): Promise<T> => translated(call, context.image.name);
  const proxySocket = await translate(context.proxySockets.reserve());
  const sessionContainer = await translate(openHome(context, { session: id, volumes, proxySocket }));
  const egress = createSessionEgress({ sessionContainer, proxySocket, idleContainers: context.idleContainers });
  const whileRunning = context.engine.name === "Podman" ? toWhileRunning(sessionContainer, context) : undefined;
  const archive = createHomeArchive({ ...sessionContainer, whileRunning }, context.user);
  // No agent has used a new home.
  let visited = origin === "kept";
  const seeds = createHomeSeeds();
  const home = { archive, scratchDir: context.scratchDir, exists: visited };
  const login = context.login?.open(home) ?? openWithoutLogin(home);
  let heldBytes = visited ? undefined : 0;
  const starting = new Set<Promise<unknown>>();
  const running = new Set<TurnProcess>();
  const finishing = new Set<Promise<void>>();
  const removed = new AbortController();

  async function start(command: Command, options: StartOptions): Promise<TurnProcess> {
    removed.signal.throwIfAborted();
    const containerReady = sessionContainer.ensure();
    // A start that fails before it awaits this would leave the rejection unhandled.
    containerReady.catch(() => undefined);
    const over = [removed.signal, ...(options.signal === undefined ? [] : [options.signal])];
    const prepareHome = async (): Promise<void> => {
      await containerReady;
      const files = command.home === undefined ? undefined : await seeds.load(command.home);
      const need = running.size === 0 ? toLoginNeed(command, context.login) : "none";
      await login.prepare(need, AbortSignal.any(over), files?.files);
      files?.written();
      // The previous turn's container is removed before the next agent starts, above all before a retry.
      await lastTurnsGone();
    };
    const checkMountPoints = async (paths: readonly string[]): Promise<void> => {
      if (visited) await archive.checkMountPoints(paths);
    };
    const network = egress.join((options.access ?? DEFAULT_ACCESS).egress);
    const decideVisibility = () => context.visibility.decide(sessionContainer);
    const steps = { containerReady, prepareHome, checkMountPoints };
    const turn = { context, session: id, volumes, command, options, network, decideVisibility, heldBytes, ...steps };
    const child = await startTurn(turn).catch(async (error: unknown) => {
      pendingRemovals.suspect(error);
      await network.close();
      throw error;
    });
    visited = true;
    running.add(child);
    void child.disk?.then((report) => (heldBytes = report?.homeBytes));
    const finish = (): void => {
      running.delete(child);
      finishing.add(child.gone);
      void child.gone.then(() => finishing.delete(child.gone));
    };
    child.exit.then(finish, finish);
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

  async function stop(): Promise<void> {
    removed.abort(sessionEnded(id));
    // A process that is just starting would use the volumes after their removal.
    await Promise.allSettled(starting);
    await Promise.all([...running].map((child) => child.stop("shutdown")));
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
    paths: () => ({ workspace: SANDBOX.workspace, home: SANDBOX.home }),
    start(command, options) {
      const started = translate(start(command, options));
      starting.add(started);
      return started.finally(() => starting.delete(started));
    },
    async readFile(path) {
      const file = checkPath(path);
      const content =
        (await readHomeFile(sessionContainer.handle, file, LARGEST_ANSWER_BYTES)) ??
        (await translate(archive.readFile(file, LARGEST_ANSWER_BYTES)));
      return content?.toString("utf8");
    },
    async appendFile(path, text) {
      await translate(appendFile(archive, checkPath(path), text));
    },
    remove: () => translate(remove()),
    suspend: (signal) => translate(suspend(signal)),
  };
}

/** Podman tells of a path in a volume what is at the end of its symlinks, so a look into the running container is needed. */
function toWhileRunning(
  container: SessionContainer,
  { idleContainers }: Pick<SandboxContext, "idleContainers">,
): <T>(use: () => Promise<T>) => Promise<T> {
  return async (use) => {
    idleContainers.acquire(container);
    try {
      await container.start();
      return await use();
    } finally {
      await idleContainers.releaseAndStop(container);
    }
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

async function appendFile(archive: HomeArchive, path: string, text: string): Promise<void> {
  const before = (await archive.readFile(path, LARGEST_LOG_BYTES)) ?? Buffer.alloc(0);
  const content = Buffer.concat([before, Buffer.from(text)]);
  await archive.write([{ path: `${SANDBOX.home}/${path}`, content, mode: 0o600 }]);
}

function sessionEnded(id: SessionId): BudgieError {
  return new BudgieError("SESSION_NOT_FOUND", `The session "${id}" has ended. Leave its id out to begin a new one.`);
}

function checkPath(path: string): string {
  if (isHomePath(path)) return path;
  throw new BudgieError("SESSION_UNUSABLE", `${JSON.stringify(path)} is not the path of a file in a session's home.`);
}
