import type { ContainerCreateOptions, MountSettings } from "dockerode";
import type { Command, Limits } from "@budgie/core";
import { INIT_SCRIPT } from "./init-script.ts";
import { CA_ENV, PROXY_ENV } from "./proxy-environment.ts";
import type { SandboxUser } from "./sandbox-user.ts";

/** The only file of the session image: it takes the path of the proxy's socket, and carries 127.0.0.1:3128 there. */
export const FORWARDER = "/forwarder";

/** Paths inside a sandbox. */
export const SANDBOX = { home: "/home/agent", workspace: "/workspace", auth: "/auth" } as const;

/** The limits that an engine enforces: none limits the size of a volume. */
type EngineLimits = Omit<Limits, "diskBytes">;

export type TurnContainer = {
  /** The image's id, not its name: a name can come to mean another image between the check and the start */
  readonly imageId: string;
  readonly command: Command;
  readonly user: SandboxUser;
  readonly extraGroups: readonly string[];
  readonly mounts: readonly MountSettings[];
  /** `none`, `bridge` or `container:` and the name of one whose network it joins */
  readonly network: string;
  /** On the host; `undefined` if the image's own certificates will do */
  readonly caFile: string | undefined;
  readonly limits: EngineLimits;
  /** The seccomp profile in the engine's form; `undefined` if the engine has no seccomp */
  readonly seccomp: string | undefined;
  /** Whether the engine takes ulimits on resources that the kernel counts per user */
  readonly hasUlimits: boolean;
  /** The engine's own if undefined */
  readonly runtime: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
};

/** The isolation profile: the diff of this function is every change of what a sandbox may do. */
export function toTurnContainer(turn: TurnContainer): ContainerCreateOptions {
  const { extraGroups, hasUlimits, imageId, labels, limits, mounts, network, runtime, seccomp, user } = turn;
  return {
    Image: imageId,
    // Replaces the image's own entrypoint: any image with a /bin/sh will do, and none can run something first.
    Entrypoint: ["/bin/sh", "-c", INIT_SCRIPT, "budgie"],
    Cmd: [...turn.command.argv],
    Env: toEnv(turn),
    User: `${user.uid}:${user.gid}`,
    WorkingDir: SANDBOX.workspace,
    Labels: { ...labels },
    StopSignal: "SIGTERM",
    Healthcheck: { Test: ["NONE"] },
    ...SPOKEN_TO,
    HostConfig: {
      ...(runtime === undefined ? {} : { Runtime: runtime }),
      ...toIsolation(limits),
      SecurityOpt: ["no-new-privileges", ...(seccomp === undefined ? [] : [`seccomp=${seccomp}`])],
      Ulimits: hasUlimits ? ULIMITS.map(([Name, most]) => ({ Name, Soft: most, Hard: most })) : [],
      Init: true,
      NetworkMode: network,
      GroupAdd: [...extraGroups],
      // Without `exec` no build could run what it made in /tmp.
      Tmpfs: {
        "/tmp": "rw,nosuid,nodev,exec,size=512m,mode=1777",
        "/var/tmp": "rw,nosuid,nodev,exec,size=64m,mode=1777",
      },
      Mounts: [...mounts],
    },
  };
}

// The kernel counts all but the last for all processes of a user, also on the host and in other sandboxes: these limits leave
// the rest to those. None is above an ordinary user's limit, which a rootless engine could not raise. A core file would be
// left in the workspace.
const ULIMITS = [
  ["nofile", 16_384],
  ["sigpending", 1024],
  ["msgqueue", 256 * 1024],
  ["memlock", 64 * 1024],
  ["core", 0],
] as const;

/** What every container of budgie's that runs something lacks, and the most that it may use. */
function toIsolation({ cpus, memoryBytes, pids }: EngineLimits) {
  return {
    ReadonlyRootfs: true,
    CapDrop: ["ALL"],
    SecurityOpt: ["no-new-privileges"],
    PidsLimit: pids,
    Memory: memoryBytes,
    // The engine would double the memory with swap.
    MemorySwap: memoryBytes,
    NanoCpus: Math.round(cpus * 1e9),
    // A log file would hold the answers, and slows output down twenty times.
    LogConfig: { Type: "none", Config: {} },
  };
}

// One that is spoken to over the engine ends its stdin with the connection: that is its lease.
const SPOKEN_TO = { OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true };

function toEnv({ caFile, command, network, user: { uid } }: TurnContainer): string[] {
  const user = uid === 0 ? "root" : "agent";
  const own = {
    HOME: SANDBOX.home,
    USER: user,
    LOGNAME: user,
    LANG: "C.UTF-8",
    // An image may point these elsewhere, where the login would not be found and nothing can be written.
    XDG_DATA_HOME: `${SANDBOX.home}/.local/share`,
    XDG_CONFIG_HOME: `${SANDBOX.home}/.config`,
    XDG_CACHE_HOME: `${SANDBOX.home}/.cache`,
    XDG_STATE_HOME: `${SANDBOX.home}/.local/state`,
  };
  const proxy = network.startsWith("container:") ? PROXY_ENV : {};
  const certificates = caFile === undefined ? {} : CA_ENV;
  return Object.entries({ ...own, ...proxy, ...certificates, ...command.env }).map(
    ([name, value]) => `${name}=${value}`,
  );
}

export type SessionContainerSpec = {
  /** Of budgie's own image */
  readonly imageId: string;
  readonly user: SandboxUser;
  readonly mounts: readonly MountSettings[];
  /** In the session container */
  readonly socketPath: string;
  readonly labels: Readonly<Record<string, string>>;
};

/**
 * The container whose network turns join, and through which a session's volumes are read and written, whether it runs or
 * not. What runs in it carries connections from its loopback to the proxy socket, and has no other way out.
 */
export function toSessionContainer(sessionContainer: SessionContainerSpec): ContainerCreateOptions {
  const { imageId, labels, mounts, socketPath, user } = sessionContainer;
  return {
    Image: imageId,
    Entrypoint: [FORWARDER],
    Cmd: [socketPath],
    // Who may use the proxy socket; Podman also gives what is written through this container to its user.
    User: `${user.uid}:${user.gid}`,
    Labels: { ...labels },
    Healthcheck: { Test: ["NONE"] },
    HostConfig: {
      ...toIsolation(SESSION_CONTAINER_LIMITS),
      NetworkMode: "none",
      Mounts: [...mounts],
    },
  };
}

// The forwarder's buffers are 32 MiB at most; an engine's own helper counts as a process while it starts.
const SESSION_CONTAINER_LIMITS: EngineLimits = { memoryBytes: 64 * 1024 ** 2, cpus: 1, pids: 32 };

export type ProxyContainer = {
  readonly imageId: string;
  readonly user: SandboxUser;
  /** Such as `node` and the program's file */
  readonly command: readonly [string, ...string[]];
  readonly mounts: readonly MountSettings[];
  readonly labels: Readonly<Record<string, string>>;
};

/** The container in which the egress proxy runs where it cannot run in budgie's own process. */
export function toProxyContainer({ command, imageId, labels, mounts, user }: ProxyContainer): ContainerCreateOptions {
  return {
    Image: imageId,
    Entrypoint: [...command],
    Cmd: [],
    // Nothing of the image may change how it runs.
    Env: ["HOME=/", "NODE_OPTIONS="],
    // The same as the session containers': who may use the proxy sockets.
    User: `${user.uid}:${user.gid}`,
    WorkingDir: "/",
    Labels: { ...labels },
    Healthcheck: { Test: ["NONE"] },
    ...SPOKEN_TO,
    HostConfig: {
      ...toIsolation(PROXY_LIMITS),
      Init: true,
      NetworkMode: "bridge",
      Mounts: [...mounts],
    },
  };
}

const PROXY_LIMITS: EngineLimits = { memoryBytes: 512 * 1024 ** 2, cpus: 1, pids: 64 };

/** A container that is only looked into, and can do nothing even if somebody starts it. */
export function toIdleContainer(imageId: string, labels: Readonly<Record<string, string>>): ContainerCreateOptions {
  return {
    Image: imageId,
    Entrypoint: ["/bin/sh"],
    Cmd: ["-c", "exit 0"],
    User: "0:0",
    Labels: { ...labels },
    HostConfig: {
      // Podman looks for its init program when the container is created.
      Init: true,
      NetworkMode: "none",
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      LogConfig: { Type: "none", Config: {} },
    },
  };
}
