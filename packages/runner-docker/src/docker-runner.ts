import { rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import pLimit, { type LimitFunction } from "p-limit";
import { createSessionId, type Owner, type Runner, type RunnerAhead, type SessionId } from "@budgie/core";
import { chooseDefaultLimits, type Limits } from "@budgie/core/policy";
import { createIdleContainers } from "@budgie/sandbox/egress";
import type { Login } from "@budgie/sandbox/login";
import { ensureMountedFiles, ensureTrustStore } from "@budgie/sandbox/mounts";
import type { OpenRoot } from "@budgie/sandbox/proc";
import { chooseSandboxUser, listUserNotices, type Caller, type SandboxUser } from "@budgie/sandbox/profile";
import { createRunnerStandbys } from "@budgie/sandbox/standby";
import { mayLaunchAhead } from "./turn/may-launch-ahead.ts";
import { createCopyBases } from "./bases/copy-bases.ts";
import { checkRuntime } from "./engine/check-runtime.ts";
import { checkProtections, listProtectionNotices, type Weaker } from "./engine/engine-protection.ts";
import { collectGarbage } from "./maintenance/collect-garbage.ts";
import { translated } from "./engine/to-budgie-error.ts";
import { createDockerSession, type DockerSession } from "./docker-session.ts";
import type { DockerStandby } from "./turn/start-process.ts";
import { listEnginePaths, type Host } from "./list-engine-paths.ts";
import { createProxySockets } from "./proxy/create-proxy-sockets.ts";
import { connectEngine, type Engine } from "./engine/engine.ts";
import { createProcAccess } from "./session/proc-access.ts";
import { createSharedFiles } from "./session/shared-files.ts";
import type { HostEnvironment } from "./engine/find-endpoints.ts";
import { refuseOriginals } from "./image/find-agent-program.ts";
import { createFindPrograms } from "./image/find-programs.ts";
import { findImage, type SandboxImage } from "./image/find-image.ts";
import { createPrinter } from "./image/print-in-image.ts";
import type { ProxyPlacement, StartProxy } from "./proxy/start-proxy.ts";
import { listSessions } from "./maintenance/list-sessions.ts";
import { createCaches } from "./session/create-caches.ts";
import type { HomeOrigin } from "./session/session-volumes.ts";
import { ensureSeccomp } from "./sandbox/ensure-seccomp.ts";
import type { SandboxContext } from "./session/sandbox-context.ts";

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
  /** True if an engine elsewhere may get copies of this machine's files; default false */
  readonly allowRemoteCopy?: boolean | undefined;
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
  /**
   * Number of standbys, at most 8. From 1 on, sandboxes are launched for next turns, and sessions are kept ready too: one, or as many as began at once before. By default nothing
   * is made before its call, and at most 8 processes stand by
   */
  readonly ahead?: number | undefined;
  /** Time for which a process may stand by for its session's next turn; default none. Sandboxes that were launched before wait as long, or 5 minutes */
  readonly warmIdleMs?: number | undefined;
};

/** The parts that the claims' lab replaces. */
export type RunnerParts = {
  /** Starts the egress proxy in this process */
  readonly startProxy?: StartProxy;
  /** Default: an inspection through `/proc` */
  readonly openRoot?: OpenRoot | undefined;
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
  const user = chooseSandboxUser(caller, engine.users);
  await refuseOriginals(engine, image, { user, owner: options.owner, program: options.program });
  const sessions = new Map<SessionId, Promise<DockerSession>>();
  const scratchDir = join(options.stateDir, "scratch", options.owner.record.instance);
  // More simultaneous starts than twice the cores only slow each of them down.
  const starting = pLimit(Math.max(2, 2 * engine.cpus));
  let context: SandboxContext | undefined;
  const printer = createPrinter(engine, { ...options, image, user, owner: options.owner.record });
  const standbys = createRunnerStandbys<DockerStandby, DockerSession>(options, starting, () =>
    open(createSessionId(), "ahead"),
  );
  const runnerAhead: RunnerAhead = {
    prepare: standbys.sessions.prepare,
    take: () =>
      standbys.sessions.take()?.then((ready) => {
        if (ready !== undefined) sessions.set(ready.session.id, Promise.resolve(ready.session));
        return ready?.session.id;
      }),
    count: standbys.count,
  };

  async function open(id: SessionId, origin: HomeOrigin): Promise<DockerSession> {
    await options.owner.hold();
    context ??= createContext({ options, engine, image, user, scratchDir, starting, parts });
    return follow(await createDockerSession(context, { id, origin, standby: standbys.open() }));
  }

  function openOnce(id: SessionId, origin: HomeOrigin): Promise<DockerSession> {
    const session = sessions.get(id) ?? open(id, origin);
    sessions.set(id, session);
    // A failed session can be opened again.
    session.catch(() => sessions.delete(id));
    return session;
  }

  function follow(session: DockerSession): DockerSession {
    // Its id is free then, and closing does not remove it twice.
    const forget = (): void => void sessions.delete(session.id);
    return {
      ...session,
      // Before a turn has started, another session would slow that turn down.
      start: (...turn) => standbys.follow(session.start(...turn)),
      remove: () => session.remove().then(forget),
      suspend: (signal) => session.suspend(signal).then(forget),
    };
  }

  return {
    isolation: "container",
    notices: [...listUserNotices(caller, engine.users), ...listProtectionNotices(engine.protections)],
    guarded: listEnginePaths(engine, options),
    capacity: { cpus: engine.cpus, memoryBytes: engine.memoryBytes },
    imageId: image.id,
    imageTools: image.tools,
    // A missing image fails the turn, not its briefing.
    toolsOf: (name) =>
      findImage(engine, name)
        .then(({ tools }) => tools)
        .catch(() => []),
    print: (command) => options.owner.hold().then(() => printer.print(command)),
    ...((options.ahead ?? 0) > 0 ? { ahead: runnerAhead } : {}),
    openSession: (id, { isKept = true } = {}) => openOnce(id, isKept ? "new" : "ephemeral"),
    resumeSession: (id) => openOnce(id, "kept"),
    listSessions: () => translated(listSessions(engine.docker, options.owner), image.name),
    collectGarbage: (policy) =>
      translated(collectGarbage(engine.docker, options.owner, { ...policy, stateDir: options.stateDir }), image.name),
    async close() {
      const signal = AbortSignal.timeout(CLEARING_LIMIT_MS);
      const isKept = options.keepSessionsMs !== undefined;
      const endings = [...sessions.values()].map((session) =>
        session.then((opened) => (isKept ? opened.suspend(signal) : opened.remove())),
      );
      const results = await Promise.allSettled([
        ...endings,
        printer.close(),
        standbys.sessions.close(),
        engine.pendingRemovals.close(),
      ]);
      // Even if the rest failed, since a login may be in there.
      rmSync(scratchDir, { recursive: true, force: true });
      await context?.copyBases?.close().catch(() => undefined);
      await context?.proxySockets.close();
      const failed = results.find((result) => result.status === "rejected");
      if (failed !== undefined) throw failed.reason;
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
  const { openRoot, startProxy } = parts;
  const idleContainers = createIdleContainers({
    idleMs: options.containerIdleMs ?? CONTAINER_IDLE_MS,
    most: options.maxRunningContainers ?? MOST_RUNNING_CONTAINERS,
  });
  return {
    engine,
    image,
    findImage: (name) => findImage(engine, name),
    findPrograms: createFindPrograms(engine, { ...options, image, owner: options.owner.record }),
    copyBases: createCopyBases({ engine, user, ...options }),
    openCache: createCaches(engine, { ...options, image, user, owner: options.owner.record }),
    owner: options.owner,
    keepSessionsMs: options.keepSessionsMs,
    user,
    callerGroups: process.getgroups?.() ?? [],
    limits: { ...chooseDefaultLimits(engine.cpus), ...options.limits },
    runtime: options.runtime,
    login: options.login,
    proxySockets: createProxySockets({ ...options, engine, image, user, startProxy }),
    idleContainers,
    visibility: createProcAccess({ engine, runtime: options.runtime, idleContainers, openRoot }),
    sharedFiles: createSharedFiles({ engine, image, owner: options.owner, scratchDir }),
    allowsRemoteCopy: options.allowRemoteCopy === true,
    openRoot,
    caFile: options.caFile,
    scratchDir,
    ensureMountedFiles: (env) => ({
      ...ensureMountedFiles(options.stateDir, user, env),
      trustStoreFile: options.caFile && ensureTrustStore(options.stateDir, options.caFile),
    }),
    ensureSeccomp: () => ensureSeccomp(engine, options.stateDir),
    launchesAhead: (options.ahead ?? 0) > 0 && mayLaunchAhead(engine.name),
    keepsProcesses: (options.warmIdleMs ?? 0) > 0,
    starting,
    turns: new Set(),
  };
}
