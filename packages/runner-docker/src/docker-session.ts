import {
  BudgieError,
  type AgentProcess,
  type Command,
  type RunnerSession,
  type SessionId,
  type StartOptions,
} from "@budgie/core";
import { DEFAULT_ACCESS } from "@budgie/core/policy";
import { readCommandKey, takeHeld, type StandbyPlace } from "@budgie/core/standby";
import { createSessionEgress } from "@budgie/sandbox/egress";
import { createHomeFiles, createHomeSeeds } from "@budgie/sandbox/home";
import { findLoginNeed, openWithoutLogin } from "@budgie/sandbox/login";
import { findWorkspacePath, SANDBOX } from "@budgie/sandbox/profile";
import { translated } from "./engine/to-budgie-error.ts";
import { createHomeArchive } from "./container-files/create-home-archive.ts";
import { readHomeFile } from "./container-files/read-home-file.ts";
import type { SandboxContext } from "./session/sandbox-context.ts";
import { offerCopy } from "./session/offer-copy.ts";
import { createSessionCopy } from "./session/session-copy.ts";
import { createSessionServices } from "./session/session-services.ts";
import {
  createHome,
  removeContainers,
  removeVolumes,
  resumeHome,
  sessionVolumes,
  volumeNames,
  type HomeOrigin,
} from "./session/session-volumes.ts";
import { withRunningContainer } from "./session/with-running-container.ts";
import { createMountSender } from "./turn/create-mount-sender.ts";
import { planSandbox, type SandboxRequest } from "./turn/plan-sandbox.ts";
import { createRunningProcesses, toProcessKey } from "./turn/running-processes.ts";
import { launchAhead, startProcess, type DockerStandby } from "./turn/start-process.ts";

/** A session of this process, which another process can resume later. */
export type DockerSession = RunnerSession & {
  /** Pre-warms the session: container and proxy. */
  warmUp(): Promise<void>;
  /** Stops its processes and removes everything but its home, from which the login is removed unless `signal` aborts first. */
  suspend(signal: AbortSignal): Promise<void>;
};

export type Opening = {
  readonly id: SessionId;
  readonly origin: HomeOrigin;
  /** The place of what its next turn takes */
  readonly standby: StandbyPlace<DockerStandby>;
};

/** Creates a session with its volumes and its container. */
export async function createDockerSession(
  context: SandboxContext,
  { id, origin, standby }: Opening,
): Promise<DockerSession> {
  const { engine, idleContainers, openRoot, visibility } = context;
  const { docker, pendingRemovals } = engine;
  const volumes = sessionVolumes(context, id, origin);
  const openHome = origin === "kept" ? resumeHome : createHome;
  const translate = <T>(call: Promise<T>): Promise<T> => translated(call, context.image.name);
  const proxySocket = await translate(context.proxySockets.reserve());
  const sessionContainer = await translate(openHome(context, { session: id, volumes, proxySocket }));
  const egress = createSessionEgress({ sessionContainer, proxySocket, idleContainers, runtime: context.runtime });
  // For a path in a volume, Podman reports the target of its symlinks, so budgie has to look into the running container.
  const whileRunning = engine.name === "Podman" ? withRunningContainer(sessionContainer, context) : undefined;
  const archive = createHomeArchive({ ...sessionContainer, openRoot, whileRunning }, context.user);
  // No agent has used a new home.
  let visited = origin === "kept";
  const { handle, lastRun } = sessionContainer;
  const files = createHomeFiles(archive, (path, maxBytes) => readHomeFile(handle, path, { maxBytes, lastRun }));
  const seeds = createHomeSeeds();
  const home = { archive, scratchDir: context.scratchDir, exists: visited };
  const login = context.login?.open(home) ?? openWithoutLogin(home);
  const services = createSessionServices(context, id, proxySocket.isHere);
  const starting = new Set<Promise<unknown>>();
  const processes = createRunningProcesses(standby, visited ? undefined : 0);
  const removed = new AbortController();

  const copy = createSessionCopy(context, { session: id, volume: volumes.copy, origin, standby, processes });

  const launching = {
    context,
    session: id,
    volumes,
    decideVisibility: () => visibility.decide(sessionContainer),
    sendMounts: createMountSender(engine, volumes.auth, archive),
    async checkMountPoints(paths: readonly string[]): Promise<void> {
      if (visited) await archive.checkMountPoints(paths);
    },
  };

  async function start(command: Command, options: StartOptions): Promise<AgentProcess> {
    removed.signal.throwIfAborted();
    const beside = await services.ensure(command.services);
    // A service that was started again has a new socket, to which a process that stood by does not lead.
    const copyCovers = await copy.findCovers(command, options);
    const mayStandBy = context.keepsProcesses && options.standbyKey !== undefined && beside === undefined;
    const told = mayStandBy ? await readCommandKey(command, options) : undefined;
    const held = await takeHeld(standby, options, () => planKey({ command, options, services: beside }, told));
    if (held !== undefined) return held;
    const containerReady = sessionContainer.ensure();
    // A start that fails before it awaits this would leave the rejection unhandled.
    containerReady.catch(() => undefined);
    const over = [removed.signal, ...(options.signal === undefined ? [] : [options.signal])];
    const prepareHome = async (): Promise<void> => {
      await containerReady;
      // A new home is filled through the session's container. The turn's container waits for it too, and reports a failure.
      if (!visited) await network.joinable.catch(() => undefined);
      const need = processes.count() === 0 ? findLoginNeed(command, context.login) : "none";
      await seeds.fill(command, (entries) => login.prepare(need, AbortSignal.any(over), entries));
      // The previous turn's container is removed before the next agent starts, above all before a retry.
      await processes.lastGone();
    };
    const network = egress.join(
      (options.access ?? DEFAULT_ACCESS).egress,
      // Two sandboxes in one network could not have the same addresses.
      // Other runtimes' containers may not reach a socket of this kernel.
      (options.ownNetwork === true || beside !== undefined) && context.runtime === undefined,
    );
    const turn = { ...launching, command, options, network, services: beside, containerReady, copyCovers, copy };
    const child = await startProcess({
      ...turn,
      heldBytes: processes.heldBytes(),
      prepareHome,
      takeStandby: standby.take,
    }).catch(async (error: unknown) => {
      pendingRemovals.suspect(error);
      await network.close();
      throw error;
    });
    visited = true;
    return processes.follow(child, { network, told, onGone: () => prepareNext(turn) });
  }

  /** Returns the key of the process that a start would make now; `undefined` if that cannot stand by, or would get another login. */
  async function planKey(asked: Asked, told: string | undefined): Promise<string | undefined> {
    const { command, options } = asked;
    if (told === undefined || !(await login.isCurrent(findLoginNeed(command, context.login)))) return undefined;
    const network = { mode: egress.modeOf((options.access ?? DEFAULT_ACCESS).egress), joinable: Promise.resolve() };
    await using plan = await planSandbox({ ...launching, ...asked, network, containerReady: NOT_KNOWN });
    return toProcessKey(plan.key, told);
  }

  /** Launches a sandbox for another turn like this one, unless a turn runs. */
  function prepareNext({ network: { forwarder, mode }, options, ...turn }: SandboxRequest): void {
    // On the bridge, the engine writes the host's name servers into a container at its start.
    if (
      turn.copyCovers !== undefined ||
      !context.launchesAhead ||
      starting.size + processes.count() > 0 ||
      mode === "bridge"
    )
      return;
    const { access, directory, git, protectedPaths, workspacePath } = options;
    const network = { mode, forwarder, joinable: Promise.resolve() };
    const next = {
      ...turn,
      network,
      options: { access, directory, git, protectedPaths, workspacePath, signal: removed.signal },
    };
    standby.prepare(async () =>
      launchAhead({ ...next, containerReady: Promise.resolve(await sessionContainer.ensure()) }),
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
    removed.abort(
      new BudgieError("SESSION_NOT_FOUND", `The session "${id}" has ended. Leave its id out to begin a new one.`),
    );
    // A process that is just starting would use the volumes after their removal.
    await Promise.allSettled(starting);
    // A start that failed does not wait for the container whose network its process would have joined.
    await Promise.all([standby.close(), processes.stop(), copy.letGo(), sessionContainer.settled()]);
  }

  async function removeResources(lostVolumes: readonly string[]): Promise<void> {
    await egress.close();
    await removeContainers(docker, id);
    await removeVolumes(docker, lostVolumes);
    services.close();
  }

  /** Removes the session. A second attempt goes straight to the engine, since no process runs here any more. */
  async function remove(): Promise<void> {
    const attempt = async (): Promise<void> => {
      await stop();
      await removeResources(Object.values(volumeNames(id)));
      context.copyBases?.release(id);
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
    paths: (directory, workspacePath) => ({
      workspace: findWorkspacePath({ directory, workspacePath }),
      home: SANDBOX.home,
    }),
    start(command, options) {
      const started = translate(start(command, options));
      starting.add(started);
      return started.finally(() => starting.delete(started));
    },
    readFile: (path) => translate(files.read(path)),
    appendFile: (path, text) => translate(files.append(path, text)),
    ...offerCopy(context, copy),
    warmUp: () => translate(warmUp()),
    remove: () => translate(remove()),
    suspend: (signal) => translate(suspend(signal)),
  };
}

type Asked = Pick<SandboxRequest, "command" | "options" | "services">;

// A process that runs has joined its network, and mounts its volumes.
const NOT_KNOWN = Promise.resolve(undefined);
