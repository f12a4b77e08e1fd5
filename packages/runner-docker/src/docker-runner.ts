import { rmSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import pLimit from "p-limit";
import { DEFAULT_LIMITS, type GuardedPath, type Limits, type Owner, type Runner, type SessionId } from "@budgie/core";
import { checkRuntime } from "./engine/check-runtime.ts";
import { checkProtections, toProtectionNotices, type Weaker } from "./engine/engine-protections.ts";
import { collectGarbage } from "./maintenance/collect-garbage.ts";
import type { Credentials } from "./sandbox/credentials.ts";
import { translated } from "./engine/docker-errors.ts";
import { createDockerSession, type DockerSession, type HomeOrigin } from "./docker-session.ts";
import { createProxySockets, type ProxyPlacement } from "./proxy/create-proxy-sockets.ts";
import { connectEngine, type Engine } from "./engine/engine.ts";
import { createEngineSight } from "./session/engine-visibility.ts";
import type { LookInto } from "./container-files/container-root.ts";
import { usualSockets, type HostEnvironment } from "./engine/find-engine.ts";
import { findImage, type SandboxImage } from "./image/find-image.ts";
import type { StartProxy } from "./proxy/host-proxy.ts";
import { listSessions } from "./maintenance/list-sessions.ts";
import { createIdleContainers } from "./session/idle-containers.ts";
import { ensureMountedFiles } from "./sandbox/mounted-files.ts";
import type { SandboxContext } from "./session/sandbox-context.ts";
import { toSandboxUser, toUserNotices, type Caller, type SandboxUser } from "./sandbox/sandbox-user.ts";

export type DockerRunnerOptions = {
  /** Any image with a `/bin/sh`, and with the programs that are to run on its PATH */
  readonly image: string;
  readonly owner: Owner;
  /** Where budgie keeps its own files on the host */
  readonly stateDir: string;
  /** Where the host's Kiro keeps `data.sqlite3` */
  readonly kiroDataDir: string;
  /** The user's home, where engines' sockets and contexts are looked for */
  readonly home: string;
  readonly hostEnv: HostEnvironment;
  /** Limits of one turn; default 4 GiB, at most 4 CPUs, 1024 processes, 10 GiB in the home */
  readonly limits?: Partial<Limits>;
  /** What of the host's login is handed over; default `full` */
  readonly credentials?: Credentials | undefined;
  /** A runtime of the engine's, such as `runsc`; default the engine's own */
  readonly runtime?: string | undefined;
  /** Protections that the engine may lack; default none */
  readonly acceptWeaker?: readonly Weaker[] | undefined;
  /** Certificates that sandboxes shall trust, in place of the image's own: a file of the host */
  readonly caFile?: string | undefined;
  /** The proxy through which the host itself reaches the internet, as a URL */
  readonly upstreamProxy?: string | undefined;
  /** Default what the engine can do */
  readonly proxyPlacement?: ProxyPlacement | undefined;
  /** After which a session container that no turn is in is stopped; default 5 minutes */
  readonly containerIdleMs?: number | undefined;
  /** How many session containers run at most, as long as no turn is in more; default 32 */
  readonly maxRunningContainers?: number | undefined;
  /** How long sessions are kept for another runner to resume, from their last use; left out, they end with this one */
  readonly keepSessionsMs?: number | undefined;
};

/** What the lab of the claims puts in the place of budgie's own. */
export type RunnerParts = {
  /** Where the proxy runs in this process */
  readonly startProxy?: StartProxy;
  /** Default a look through `/proc` */
  readonly lookInto?: LookInto | undefined;
};

const CONTAINER_IDLE_MS = 5 * 60_000;
const MOST_RUNNING_CONTAINERS = 32;
// What is left of a shutdown then is needed to remove containers.
const CLEARING_LIMIT_MS = 3000;

/**
 * Creates the runner that gives every process a hardened container of its own. Engine, runtime, protections and image are checked at
 * once: `RUNNER_UNAVAILABLE` or `IMAGE_NOT_FOUND`. Nothing is written, and SQLite is not loaded, before the first session.
 */
export async function createDockerRunner(options: DockerRunnerOptions, parts: RunnerParts = {}): Promise<Runner> {
  let finding: Promise<SandboxImage> | undefined;
  const engine = await connectEngine(options.hostEnv, options.home, (endpoint) => {
    finding = findImage({ endpoint }, options.image);
    // What is wrong with the engine is told first.
    finding.catch(() => undefined);
  });
  checkRuntime(engine, options.runtime);
  checkProtections(engine.protections, options.acceptWeaker ?? []);
  const image = await (finding ?? findImage(engine, options.image));
  const caller: Caller = { uid: process.getuid?.(), gid: process.getgid?.() };
  const user = toSandboxUser(caller, engine.users);
  const sessions = new Map<SessionId, Promise<DockerSession>>();
  const scratchDir = join(options.stateDir, "scratch", options.owner.record.instance);
  let context: SandboxContext | undefined;

  async function open(id: SessionId, origin: HomeOrigin): Promise<DockerSession> {
    await options.owner.hold();
    context ??= createContext({ options, engine, image, user, scratchDir, parts });
    return createDockerSession(context, id, origin);
  }

  function remember(id: SessionId, origin: HomeOrigin): Promise<DockerSession> {
    const session = sessions.get(id) ?? open(id, origin).then((opened) => forgetting(sessions, opened));
    sessions.set(id, session);
    // A session that could not be made can be tried again.
    session.catch(() => sessions.delete(id));
    return session;
  }

  function leave(session: DockerSession, signal: AbortSignal): Promise<void> {
    return options.keepSessionsMs === undefined ? session.remove() : session.rest(signal);
  }

  return {
    isolation: "container",
    notices: [...toUserNotices(caller, engine.users), ...toProtectionNotices(engine.protections)],
    guarded: toGuarded(engine, options),
    capacity: { cpus: engine.cpus, memoryBytes: engine.memoryBytes },
    openSession: (id) => remember(id, "new"),
    resumeSession: (id) => remember(id, "kept"),
    listSessions: () => translated(listSessions(engine.docker, options.owner), image.name),
    collectGarbage(policy) {
      const garbage = collectGarbage(engine.docker, options.owner, { ...policy, stateDir: options.stateDir });
      return translated(garbage, image.name);
    },
    async close() {
      const signal = AbortSignal.timeout(CLEARING_LIMIT_MS);
      const pendingRemovals = [...sessions.values()].map((session) => session.then((opened) => leave(opened, signal)));
      const results = await Promise.allSettled([...pendingRemovals, engine.pendingRemovals.close()]);
      // Whatever becomes of the rest: a login may be in there.
      rmSync(scratchDir, { recursive: true, force: true });
      await context?.proxySockets.close();
      const failed = results.find((result) => result.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    },
  };
}

/** The other usual sockets too: who may use two engines can be ruined by either. */
function toGuarded(
  { endpoint: { address }, rootDir }: Engine,
  { home, hostEnv }: DockerRunnerOptions,
): readonly GuardedPath[] {
  const own = "socketPath" in address ? [address.socketPath] : [];
  const what = "a container engine's socket";
  return [
    ...[...own, ...usualSockets(hostEnv, home)].map((path) => ({ path, what })),
    ...(isAbsolute(rootDir) ? [{ path: rootDir, what: "the container engine's own files" }] : []),
  ];
}

/** A removed session is forgotten, so that its name is free and closing does not remove it twice. */
function forgetting(sessions: Map<SessionId, Promise<DockerSession>>, session: DockerSession): DockerSession {
  return {
    ...session,
    async remove() {
      await session.remove();
      sessions.delete(session.id);
    },
    async rest(signal) {
      await session.rest(signal);
      sessions.delete(session.id);
    },
  };
}

type ContextParts = {
  readonly options: DockerRunnerOptions;
  readonly engine: Engine;
  readonly image: SandboxImage;
  readonly user: SandboxUser;
  readonly scratchDir: string;
  readonly parts: RunnerParts;
};

function createContext({ engine, image, options, parts, scratchDir, user }: ContextParts): SandboxContext {
  const { lookInto, startProxy } = parts;
  const idleContainers = createIdleContainers({
    idleMs: options.containerIdleMs ?? CONTAINER_IDLE_MS,
    most: options.maxRunningContainers ?? MOST_RUNNING_CONTAINERS,
  });
  return {
    engine,
    image,
    owner: options.owner,
    keepSessionsMs: options.keepSessionsMs,
    user,
    callerGroups: process.getgroups?.() ?? [],
    limits: { ...DEFAULT_LIMITS, cpus: Math.min(DEFAULT_LIMITS.cpus, engine.cpus), ...options.limits },
    runtime: options.runtime,
    credentials: options.credentials ?? "full",
    kiroDataDir: options.kiroDataDir,
    proxySockets: createProxySockets({ ...options, engine, image, user, startProxy }),
    idleContainers,
    sight: createEngineSight({ engine, runtime: options.runtime, idleContainers, lookInto }),
    lookInto,
    caFile: options.caFile,
    scratchDir,
    ensureMountedFiles: (env) => ensureMountedFiles(options.stateDir, user, env),
    // Past twice the cores, more starts at once only make each of them slower.
    starting: pLimit(Math.max(2, 2 * engine.cpus)),
  };
}
