import type { ContainerCreateOptions } from "dockerode";
import type { Limits } from "@budgie/core/policy";
import { INIT_SCRIPT } from "@budgie/sandbox/init";
import type { SandboxUser } from "@budgie/sandbox/profile";
import { buildVariables } from "./build-variables.ts";
import { toMount, type ContainerMount } from "./to-mount.ts";

/** Path of the session image's only file, a program that forwards connections from 127.0.0.1:3128 to the proxy socket in its argument. */
export const FORWARDER = "/forwarder";

/** The limits that an engine enforces. No engine limits the size of a volume. */
export type EngineLimits = Omit<Limits, "diskBytes" | "tmpBytes">;

export type SandboxContainer = {
  /** The image's id: a name may point to another image between the check and the start */
  readonly imageId: string;
  /** The names of the image's variables that do not reach the agent */
  readonly strayVariables: readonly string[];
  readonly user: SandboxUser;
  readonly extraGroups: readonly string[];
  readonly mounts: readonly ContainerMount[];
  /** More variables, such as a `PATH` with the agents' programs; default none */
  readonly variables?: Readonly<Record<string, string>>;
  /** Path of the workspace, in which its program starts */
  readonly workspacePath: string;
  /** `none`, `bridge`, or `container:` and the name of the container whose network it joins */
  readonly network: string;
  /**
   * The start of a command line that forwards to the proxy and runs what follows; left out if the container does not run the forwarder
   * itself
   */
  readonly forwarder?: readonly string[] | undefined;
  /** The services beside it; default none */
  readonly services?: BesideSandbox | undefined;
  /** Path on the host; `undefined` for the image's own certificates */
  readonly caFile: string | undefined;
  readonly limits: Omit<Limits, "diskBytes">;
  /** The seccomp profile in the engine's form; `undefined` if the engine has no seccomp */
  readonly seccomp: string | undefined;
  /** True if the engine sets ulimits on resources that the kernel counts per user */
  readonly hasUlimits: boolean;
  /** `undefined` for the engine's default */
  readonly runtime: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
};

/** The services beside a sandbox. */
export type BesideSandbox = {
  /** The start of a command line: forwards to them in the background, and runs the command that follows */
  readonly forwarders: readonly string[];
  /** Their names and addresses in the sandbox, as in `db:127.0.1.1` */
  readonly hosts: readonly string[];
};

/** Returns the isolation profile of a turn. Every change to a sandbox's rights shows in the diff of this function. */
export function toSandboxContainer(turn: SandboxContainer): ContainerCreateOptions {
  const {
    extraGroups,
    forwarder = [],
    hasUlimits,
    imageId,
    labels,
    limits,
    mounts,
    network,
    runtime,
    seccomp,
    services,
    user,
    workspacePath,
  } = turn;
  const own = buildVariables(turn);
  const stray = turn.strayVariables.filter((name) => !Object.hasOwn(own, name));
  return {
    Image: imageId,
    // Replaces the image's entrypoint, which could run something first. Any image with a /bin/sh works.
    Entrypoint: [...(services?.forwarders ?? []), ...forwarder, "/bin/sh", "-c", INIT_SCRIPT, "budgie"],
    // The variables that the init script unsets. It gets the command over stdin: everybody with access to the engine can read this.
    Cmd: stray.filter((name) => /^[A-Za-z_]\w*$/.test(name)),
    // An engine can only replace an image's variables, and its shell runs before it can unset them.
    Env: Object.entries({ ...Object.fromEntries(stray.map((name) => [name, ""])), ...own }).map((one) => one.join("=")),
    User: `${user.uid}:${user.gid}`,
    WorkingDir: workspacePath,
    Labels: { ...labels },
    StopSignal: "SIGTERM",
    Healthcheck: { Test: ["NONE"] },
    ...SPOKEN_TO,
    HostConfig: {
      ...(runtime === undefined ? {} : { Runtime: runtime }),
      ...toIsolation(limits, seccomp),
      // A turn that uses all of its processors leaves the larger share to the other containers.
      CpuShares: 512,
      Ulimits: hasUlimits ? ULIMITS : [],
      Init: true,
      NetworkMode: network,
      ...(services === undefined ? {} : { ExtraHosts: [...services.hosts] }),
      GroupAdd: [...extraGroups],
      // Without `exec`, builds could not run programs in /tmp.
      Tmpfs: {
        "/tmp": `rw,nosuid,nodev,exec,size=${limits.tmpBytes},mode=1777`,
        "/var/tmp": "rw,nosuid,nodev,exec,size=64m,mode=1777",
      },
      Mounts: mounts.map(toMount),
    },
  };
}

// The kernel counts all but the last across all processes of a user, also on the host and in other sandboxes, so these limits leave a share
// for the others. None exceeds an ordinary user's limit, which a rootless engine cannot raise. A core file would stay in the workspace, and
// the host's program that takes them in its place is started unless the limit is 1.
export const ULIMITS = Object.entries({
  nofile: 16_384,
  sigpending: 1024,
  msgqueue: 256 * 1024,
  memlock: 64 * 1024,
  core: 1,
}).map(([Name, most]) => ({ Name, Soft: most, Hard: most }));

/** Returns the isolation and the limits of every container that runs something. */
export function toIsolation({ cpus, memoryBytes, pids }: EngineLimits, seccomp: string | undefined) {
  return {
    ReadonlyRootfs: true,
    CapDrop: ["ALL"],
    SecurityOpt: ["no-new-privileges", ...(seccomp === undefined ? [] : [`seccomp=${seccomp}`])],
    PidsLimit: pids,
    Memory: memoryBytes,
    // The engine would double the memory with swap.
    MemorySwap: memoryBytes,
    NanoCpus: Math.round(cpus * 1e9),
    // A log file would contain the answers, and slows output down twenty times.
    LogConfig: { Type: "none", Config: {} },
  };
}

// With StdinOnce, a container's stdin ends with budgie's connection, which is its lease.
export const SPOKEN_TO = {
  OpenStdin: true,
  StdinOnce: true,
  AttachStdin: true,
  AttachStdout: true,
  AttachStderr: true,
};

export type ForwarderContainer = {
  /** The session image's id */
  readonly imageId: string;
  readonly user: SandboxUser;
  readonly mounts: readonly ContainerMount[];
  /** In the session container */
  readonly socketPath: string;
  /** As of a turn's container */
  readonly seccomp: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
};

/**
 * Returns the options of a session's container. Turns join its network, and the session's volumes are read and written through
 * it whether it runs or not. Its program forwards connections from its loopback to the proxy socket, and has no other network.
 */
export function toSessionContainer(container: ForwarderContainer): ContainerCreateOptions {
  const { imageId, labels, mounts, seccomp, socketPath, user } = container;
  return {
    Image: imageId,
    Entrypoint: [FORWARDER],
    Cmd: [socketPath],
    // The user that may use the proxy socket. On Podman, files written through this container belong to it too.
    User: `${user.uid}:${user.gid}`,
    Labels: { ...labels },
    Healthcheck: { Test: ["NONE"] },
    HostConfig: {
      ...toIsolation(SESSION_CONTAINER_LIMITS, seccomp),
      NetworkMode: "none",
      Mounts: mounts.map(toMount),
    },
  };
}

// The forwarder's buffers take at most 32 MiB. The engine's helper counts as a process during the start.
const SESSION_CONTAINER_LIMITS: EngineLimits = { memoryBytes: 64 * 1024 ** 2, cpus: 1, pids: 32 };

export type PrintingContainer = Pick<SandboxContainer, "imageId" | "labels" | "runtime" | "seccomp" | "user"> & {
  readonly command: readonly [string, ...string[]];
  /** Volumes with programs; default none */
  readonly mounts?: readonly ContainerMount[];
  /** Default: the image's own `PATH` */
  readonly path?: string | undefined;
};

/** Returns the options of a container for a program that only prints. It has no files of the host, login or network. */
export function toPrintingContainer(printing: PrintingContainer): ContainerCreateOptions {
  const { command, imageId, labels, mounts = [], path, runtime, seccomp, user } = printing;
  return {
    Image: imageId,
    Entrypoint: [...command],
    Cmd: [],
    Env: ["HOME=/tmp", "LANG=C.UTF-8", ...(path === undefined ? [] : [`PATH=${path}`])],
    User: `${user.uid}:${user.gid}`,
    WorkingDir: "/tmp",
    Labels: { ...labels },
    Healthcheck: { Test: ["NONE"] },
    ...SPOKEN_TO,
    HostConfig: {
      ...(runtime === undefined ? {} : { Runtime: runtime }),
      ...toIsolation(PRINTING_LIMITS, seccomp),
      Init: true,
      NetworkMode: "none",
      Tmpfs: { "/tmp": "rw,nosuid,nodev,noexec,size=64m,mode=1777" },
      Mounts: mounts.map(toMount),
    },
  };
}

const PRINTING_LIMITS: EngineLimits = { memoryBytes: 1024 ** 3, cpus: 1, pids: 64 };

/** Returns the options of a container that is only inspected, and exits at once if somebody starts it. */
export function toIdleContainer(
  imageId: string,
  labels: Readonly<Record<string, string>>,
  mounts: readonly ContainerMount[] = [],
): ContainerCreateOptions {
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
      Mounts: mounts.map(toMount),
    },
  };
}
