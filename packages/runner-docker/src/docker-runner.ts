import { rmSync } from "node:fs";
import { homedir, platform } from "node:os";
import { join } from "node:path";
import pLimit, { type LimitFunction } from "p-limit";
import {
  createSessionId,
  toDefaultLimits,
  type Limits,
  type Owner,
  type Runner,
  type RunnerAhead,
  type SessionId,
} from "@budgie/core";
import { createAhead } from "./ahead/create-ahead.ts";
import { untilQuiet } from "./ahead/until-quiet.ts";
import type { LaunchedTurn } from "./turn/turn-launch.ts";
import { checkRuntime } from "./engine/check-runtime.ts";
import { checkProtections, toProtectionNotices, type Weaker } from "./engine/engine-protections.ts";
import { collectGarbage } from "./maintenance/collect-garbage.ts";
import { translated } from "./engine/docker-errors.ts";
import { createDockerSession, type DockerSession } from "./docker-session.ts";
import { toGuarded, type Host } from "./guarded-paths.ts";
import { createProxySockets } from "./proxy/create-proxy-sockets.ts";
import { connectEngine, type Engine } from "./engine/engine.ts";
import { createEngineVisibility } from "./session/engine-visibility.ts";
import type { LookInto } from "./container-files/look-into.ts";
import type { HostEnvironment } from "./engine/find-engine.ts";
import { refuseOriginals } from "./image/find-agent-program.ts";
import { findImage, type SandboxImage } from "./image/find-image.ts";
import { createPrinter } from "./image/print-in-image.ts";
import type { ProxyPlacement, StartProxy } from "./proxy/start-proxy.ts";
import { listSessions } from "./maintenance/list-sessions.ts";
import type { Login } from "./login/login.ts";
import type { HomeOrigin } from "./session/session-volumes.ts";
import { createIdleContainers } from "./session/idle-containers.ts";
import { ensureMountedFiles } from "./sandbox/mounted-files.ts";
import { ensureSeccomp } from "./sandbox/seccomp-profile.ts";
import type { SandboxContext } from "./session/sandbox-context.ts";
import { toSandboxUser, toUserNotices, type Caller, type SandboxUser } from "./sandbox/sandbox-user.ts";

export type DockerRunnerOptions = {
  /** Any image with a `/bin/sh`, and with the agents' programs on its PATH */
  readonly image: string;
  /** The agents' program, which is checked at startup in an image like those of the original's Dockerfile; default: none */
  readonly program?: string | undefined;
  readonly owner: Owner;
  /** The folder of budgie's files on the host */
  readonly stateDir: string;
  /** The user's home, which is searched for engines' sockets and contexts; default: this process's */
  readonly home?: string | undefined;
  /** The environment variables that name the engine; default: this process's */
  readonly hostEnv?: HostEnvironment | undefined;
  /** Limits of one turn; default 4 GiB, all processors but one and at most 4, 512 processes, 10 GiB in the home */
  readonly limits?: Partial<Limits>;
  /** The login that commands may ask for, such as `createKiroLogin`'s; default none */
  readonly login?: Login | undefined;
  /** A runtime of the engine, such as `runsc`; default the engine's default */
  readonly runtime?: string | undefined;
  /** Protections that the engine may lack; default none */
  readonly acceptWeaker?: readonly Weaker[] | undefined;
  /** A file of the host with the certificates that sandboxes trust in place of the image's */
  readonly caFile?: string | undefined;
  /** URL of the proxy through which the host reaches the internet */
  readonly upstreamProxy?: string | undefined;
  /** Default: the host if the engine can mount its sockets, else a container */
  readonly proxyPlacement?: ProxyPlacement | undefined;
  /** Time after which a session's container without a turn is stopped; default 5 minutes */
  readonly containerIdleMs?: number | undefined;
  /** Number of session containers above which idle ones are stopped; default 32 */
  readonly maxRunningContainers?: number | undefined;
  /** Time after its last use during which another runner can resume a session; without it, sessions end with this runner */
  readonly keepSessionsMs?: number | undefined;
  /** Number of next turns' containers to keep ready, at most 8; from 1 on, one session is kept ready too. Default: 0 */
  readonly ahead?: number | undefined;
};

/** The parts that the claims' lab replaces. */
export type RunnerParts = {
  /** Starts the egress proxy in this process */
  readonly startProxy?: StartProxy;
  /** Default: an inspection through `/proc` */
  readonly lookInto?: LookInto | undefined;
};

const CONTAINER_IDLE_MS = 5 * 60_000;
const MOST_RUNNING_CONTAINERS = 32;
// The rest of a shutdown's time is needed to remove containers.
const CLEARING_LIMIT_MS = 3000;

/**
 * Creates the runner that gives every process a hardened container of its own. Throws `RUNNER_UNAVAILABLE` or `IMAGE_NOT_FOUND`
 * if the engine, the runtime, a protection or the image is missing. Before the first session it writes nothing and does not
 * load SQLite.
 */
export async function createDockerRunner(given: DockerRunnerOptions, parts: RunnerParts = {}): Promise<Runner> {
  const options = { ...given, home: given.home ?? homedir(), hostEnv: given.hostEnv ?? process.env };
  let finding: Promise<SandboxImage> | undefined;
  const engine = await connectEngine(options.hostEnv, options.home, (endpoint) => {
    finding = findImage({ endpoint }, options.image);
    // An error of the engine is reported before one of the image.
    finding.catch(() => undefined);
  });
  checkRuntime(engine, options.runtime);
  checkProtections(engine.protections, options.acceptWeaker ?? []);
  const image = await (finding ?? findImage(engine, options.image));
  const caller: Caller = { uid: process.getuid?.(), gid: process.getgid?.() };
  const user = toSandboxUser(caller, engine.users);
  await refuseOriginals(engine, image, { user, owner: options.owner, program: options.program });
  const sessions = new Map<SessionId, Promise<DockerSession>>();
  const scratchDir = join(options.stateDir, "scratch", options.owner.record.instance);
  // More simultaneous starts than twice the cores only slow each of them down.
  const starting = pLimit(Math.max(2, 2 * engine.cpus));
  let context: SandboxContext | undefined;
  const printer = createPrinter(engine, { ...options, image, user, owner: options.owner.record });
  const ahead = createAhead<DockerSession, LaunchedTurn>({
    turns: toTurnsAhead(engine, options),
    untilQuiet: (signal) => untilQuiet(starting, signal),
    openSession: () => open(createSessionId(), "ahead"),
  });
  const runnerAhead: RunnerAhead = {
    prepare: ahead.prepare,
    take: () =>
      ahead.session.take()?.then((session) => {
        if (session === undefined) return undefined;
        sessions.set(session.id, Promise.resolve(forgetWhenRemoved(sessions, session)));
        return session.id;
      }),
    count: ahead.count,
  };

  async function open(id: SessionId, origin: HomeOrigin): Promise<DockerSession> {
    await options.owner.hold();
    context ??= createContext({ options, engine, image, user, scratchDir, starting, parts });
    return renewAfterStart(await createDockerSession(context, { id, origin, nextTurn: ahead.openTurn() }));
  }

  function openOnce(id: SessionId, origin: HomeOrigin): Promise<DockerSession> {
    const session = sessions.get(id) ?? open(id, origin).then((opened) => forgetWhenRemoved(sessions, opened));
    sessions.set(id, session);
    // A failed session can be opened again.
    session.catch(() => sessions.delete(id));
    return session;
  }

  /** Prepares another session once a turn has started; earlier, it would slow that turn down. */
  function renewAfterStart(session: DockerSession): DockerSession {
    const start: DockerSession["start"] = (...turn) => session.start(...turn).finally(ahead.session.renew);
    return { ...session, start };
  }

  function endSession(session: DockerSession, signal: AbortSignal): Promise<void> {
    return options.keepSessionsMs === undefined ? session.remove() : session.suspend(signal);
  }

  return {
    isolation: "container",
    notices: [...toUserNotices(caller, engine.users), ...toProtectionNotices(engine.protections)],
    guarded: toGuarded(engine, options),
    capacity: { cpus: engine.cpus, memoryBytes: engine.memoryBytes },
    imageId: image.id,
    print: (command) => options.owner.hold().then(() => printer.print(command)),
    ...((options.ahead ?? 0) > 0 ? { ahead: runnerAhead } : {}),
    openSession: (id, { isKept = true } = {}) => openOnce(id, isKept ? "new" : "passing"),
    resumeSession: (id) => openOnce(id, "kept"),
    listSessions: () => translated(listSessions(engine.docker, options.owner), image.name),
    collectGarbage(policy) {
      const garbage = collectGarbage(engine.docker, options.owner, { ...policy, stateDir: options.stateDir });
      return translated(garbage, image.name);
    },
    async close() {
      const signal = AbortSignal.timeout(CLEARING_LIMIT_MS);
      const endings = [...sessions.values()].map((session) => session.then((opened) => endSession(opened, signal)));
      const results = await Promise.allSettled([
        ...endings,
        printer.close(),
        ahead.session.close(),
        engine.pendingRemovals.close(),
      ]);
      // Even if the rest failed, since a login may be in there.
      rmSync(scratchDir, { recursive: true, force: true });
      await context?.proxySockets.close();
      const failed = results.find((result) => result.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    },
  };
}

/**
 * Returns how many turns to prepare ahead. None on Podman, since 4.3 may take seconds to start or end a container beside others. None where
 * containers run on another kernel, since a container that has waited is looked into again.
 */
function toTurnsAhead({ name }: Engine, { ahead = 0 }: DockerRunnerOptions): number {
  return name === "Podman" || platform() !== "linux" ? 0 : ahead;
}

/** Wraps a session so that the runner forgets it once it is removed: its id is free, and closing does not remove it twice. */
function forgetWhenRemoved(sessions: Map<SessionId, Promise<DockerSession>>, session: DockerSession): DockerSession {
  return {
    ...session,
    async remove() {
      await session.remove();
      sessions.delete(session.id);
    },
    async suspend(signal) {
      await session.suspend(signal);
      sessions.delete(session.id);
    },
  };
}

type ContextParts = {
  readonly options: DockerRunnerOptions & Host;
  readonly engine: Engine;
  readonly image: SandboxImage;
  readonly user: SandboxUser;
  readonly scratchDir: string;
  readonly starting: LimitFunction;
  readonly parts: RunnerParts;
};

function createContext({ engine, image, options, parts, scratchDir, starting, user }: ContextParts): SandboxContext {
  const { lookInto, startProxy } = parts;
  const idleContainers = createIdleContainers({
    idleMs: options.containerIdleMs ?? CONTAINER_IDLE_MS,
    most: options.maxRunningContainers ?? MOST_RUNNING_CONTAINERS,
  });
  return {
    engine,
    image,
    findImage: (name) => findImage(engine, name),
    owner: options.owner,
    keepSessionsMs: options.keepSessionsMs,
    user,
    callerGroups: process.getgroups?.() ?? [],
    limits: { ...toDefaultLimits(engine.cpus), ...options.limits },
    runtime: options.runtime,
    login: options.login,
    proxySockets: createProxySockets({ ...options, engine, image, user, startProxy }),
    idleContainers,
    visibility: createEngineVisibility({ engine, runtime: options.runtime, idleContainers, lookInto }),
    lookInto,
    caFile: options.caFile,
    scratchDir,
    ensureMountedFiles: (env) => ensureMountedFiles(options.stateDir, user, env),
    ensureSeccomp: () => ensureSeccomp(engine, options.stateDir),
    starting,
  };
}
