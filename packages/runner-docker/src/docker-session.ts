import { BudgieError, type Command, type RunnerSession, type SessionId, type StartOptions } from "@budgie/core";
import { API_LIMIT_MS, withinLimit } from "./engine/time-limits.ts";
import { SANDBOX } from "./sandbox/container-options.ts";
import { translated } from "./engine/docker-errors.ts";
import { createHomeArchive, type HomeArchive } from "./container-files/home-archive.ts";
import { createLoginSync, type LoginNeed } from "./login/login-sync.ts";
import { readHomeFile } from "./container-files/read-home-file.ts";
import type { SandboxContext } from "./session/sandbox-context.ts";
import { createSessionEgress, type TurnNetwork } from "./session/session-network.ts";
import { createHome, removeContainers, removeVolumes, resumeHome, toVolumes } from "./session/session-volumes.ts";
import { toUnverified } from "./engine/pending-removals.ts";
import { EVERYTHING, startTurn } from "./turn/start-turn.ts";
import type { TurnProcess } from "./turn/turn-process.ts";

const LARGEST_ANSWER_BYTES = 4 * 1024 * 1024;
const LARGEST_LOG_BYTES = 64 * 1024 * 1024;

/** A session of this process, which can also be left for another one. */
export type DockerSession = RunnerSession & {
  /** Stops its processes and removes all but its home; the login goes from there too, unless `signal` comes before. */
  rest(signal: AbortSignal): Promise<void>;
};

/** Whether a session's home is made, or taken over as its last owner left it. */
export type HomeOrigin = "new" | "kept";

/** Creates a session's volumes and its session container, and the session that works with them. */
export async function createDockerSession(
  context: SandboxContext,
  id: SessionId,
  origin: HomeOrigin = "new",
): Promise<DockerSession> {
  const { docker, pendingRemovals } = context.engine;
  const volumes = toVolumes(context, id);
  const openHome = { new: createHome, kept: resumeHome }[origin];
  const told = <T>(call: Promise<T>): Promise<T> => translated(call, context.image.name);
  const proxySocket = await told(context.proxySockets.reserve());
  const sessionContainer = await told(openHome(context, { session: id, volumes, proxySocket }));
  const egress = createSessionEgress({ sessionContainer, proxySocket, idleContainers: context.idleContainers });
  const archive = createHomeArchive(sessionContainer, context.user);
  const { credentials, kiroDataDir, scratchDir } = context;
  // No agent has been in a new home.
  let visited = origin === "kept";
  const login = createLoginSync({ archive, credentials, kiroDataDir, scratchDir, exists: visited });
  let heldBytes = visited ? undefined : 0;
  const starting = new Set<Promise<unknown>>();
  const running = new Set<TurnProcess>();
  const leaving = new Set<Promise<void>>();
  const removed = new AbortController();

  async function start(command: Command, options: StartOptions): Promise<TurnProcess> {
    const containerReady = sessionContainer.ensure();
    // A start that fails before it needs the session container leaves nobody to see this fail.
    containerReady.catch(() => undefined);
    const over = [removed.signal, ...(options.signal === undefined ? [] : [options.signal])];
    const prepareHome = async (): Promise<void> => {
      await containerReady;
      if (running.size === 0) await login.prepare(toLoginNeed(command), AbortSignal.any(over));
      // One turn's container is gone before the next one's agent begins, a retry's above all.
      await lastTurnsGone();
    };
    const checkMountPoints = async (paths: readonly string[]): Promise<void> => {
      if (visited) await archive.checkMountPoints(paths);
    };
    const network = egress.join((options.access ?? EVERYTHING).egress);
    const decideSight = () => context.sight.decide(sessionContainer);
    const home = { containerReady, prepareHome, checkMountPoints };
    const turn = { context, session: id, volumes, command, options, network, decideSight, heldBytes, ...home };
    const child = await startTurn(turn).catch(async (error: unknown) => {
      pendingRemovals.suspect(error);
      await network.close();
      throw error;
    });
    visited = true;
    running.add(child);
    void child.disk?.then((report) => (heldBytes = report?.homeBytes));
    const leave = (): void => {
      running.delete(child);
      leaving.add(child.gone);
      void child.gone.then(() => leaving.delete(child.gone));
    };
    child.exit.then(leave, leave);
    const depart = (): ReturnType<TurnNetwork["close"]> => network.close();
    const report = child.exit.then(depart, depart);
    return network.isWatched ? { ...child, egress: report } : child;
  }

  async function stop(): Promise<void> {
    removed.abort(sessionEnded(id));
    // What is just starting would hold the volumes, and be left alone with them.
    await Promise.allSettled(starting);
    await Promise.all([...running].map((child) => child.stop("shutdown")));
  }

  async function lastTurnsGone(): Promise<void> {
    await withinLimit(Promise.all(leaving), API_LIMIT_MS).catch((cause: unknown) => {
      throw toUnverified(cause);
    });
  }

  async function leave(lost: readonly string[]): Promise<void> {
    await egress.close();
    await removeContainers(docker, id);
    await removeVolumes(docker, lost);
  }

  /** What was given up does not run here any more, so that a second try goes straight to the engine. */
  async function remove(): Promise<void> {
    const attempt = async (): Promise<void> => {
      await stop();
      await leave([volumes.home.name, volumes.auth.name]);
    };
    await pendingRemovals.remove(attempt).tried;
  }

  async function rest(signal: AbortSignal): Promise<void> {
    await stop();
    // What cannot be taken out must not keep the rest from going.
    await login.clear(signal).catch(() => undefined);
    await leave([volumes.auth.name]);
  }

  return {
    id,
    paths: () => ({ workspace: SANDBOX.workspace, home: SANDBOX.home }),
    async start(command, options) {
      removed.signal.throwIfAborted();
      const started = told(start(command, options));
      starting.add(started);
      return started.finally(() => starting.delete(started));
    },
    async readFile(name) {
      const file = checkName(name);
      const content =
        (await readHomeFile(sessionContainer.handle, file, LARGEST_ANSWER_BYTES)) ??
        (await told(archive.readFile(file, LARGEST_ANSWER_BYTES)));
      return content?.toString("utf8");
    },
    async appendFile(name, text) {
      await told(appendFile(archive, checkName(name), text));
    },
    remove: () => told(remove()),
    rest: (signal) => told(rest(signal)),
  };
}

function toLoginNeed({ env, login }: Command): LoginNeed {
  if (login === undefined) return "none";
  return env["KIRO_API_KEY"] ? "if-any" : "required";
}

async function appendFile(archive: HomeArchive, name: string, text: string): Promise<void> {
  const before = (await archive.readFile(name, LARGEST_LOG_BYTES)) ?? Buffer.alloc(0);
  const content = Buffer.concat([before, Buffer.from(text)]);
  await archive.write([{ path: `${SANDBOX.home}/${name}`, content, mode: 0o600 }]);
}

function sessionEnded(id: SessionId): BudgieError {
  return new BudgieError("SESSION_NOT_FOUND", `The session "${id}" has ended. Leave its id out to begin a new one.`);
}

function checkName(name: string): string {
  if (/^[\w.-]+$/.test(name) && name !== "." && name !== "..") return name;
  throw new BudgieError("SESSION_UNUSABLE", `"${name}" is not the name of a file in a session's home.`);
}
