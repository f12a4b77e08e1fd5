import type { ContainerCreateOptions, MountSettings } from "dockerode";
import type { Command, Limits } from "@budgie/core";
import { INIT_SCRIPT } from "./init-script.ts";
import type { SandboxUser } from "./sandbox-user.ts";

/** Paths inside a sandbox. */
export const SANDBOX = { home: "/home/agent", workspace: "/workspace", auth: "/auth" } as const;

export type TurnContainer = {
  /** The image's id, not its name: a name can come to mean another image between the check and the start */
  readonly imageId: string;
  readonly command: Command;
  readonly user: SandboxUser;
  readonly extraGroups: readonly string[];
  readonly mounts: readonly MountSettings[];
  readonly network: "none" | "bridge";
  readonly limits: Limits;
  /** The engine's own if undefined */
  readonly runtime: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
};

/** The isolation profile: the diff of this function is every change of what a sandbox may do. */
export function toTurnContainer(turn: TurnContainer): ContainerCreateOptions {
  const { command, extraGroups, imageId, labels, limits, mounts, network, runtime, user } = turn;
  return {
    Image: imageId,
    // Replaces the image's own entrypoint: any image with a /bin/sh will do, and none can run something first.
    Entrypoint: ["/bin/sh", "-c", INIT_SCRIPT, "budgie"],
    Cmd: [...command.argv],
    Env: toEnv(command, user),
    User: `${user.uid}:${user.gid}`,
    WorkingDir: SANDBOX.workspace,
    Labels: { ...labels },
    StopSignal: "SIGTERM",
    Healthcheck: { Test: ["NONE"] },
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    HostConfig: {
      ...(runtime === undefined ? {} : { Runtime: runtime }),
      Init: true,
      NetworkMode: network,
      ReadonlyRootfs: true,
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      GroupAdd: [...extraGroups],
      PidsLimit: limits.pids,
      Memory: limits.memoryBytes,
      // The engine would double the memory with swap.
      MemorySwap: limits.memoryBytes,
      NanoCpus: Math.round(limits.cpus * 1e9),
      // A log file would hold the answers, and slows output down twenty times.
      LogConfig: { Type: "none", Config: {} },
      // Without `exec` no build could run what it made in /tmp.
      Tmpfs: {
        "/tmp": "rw,nosuid,nodev,exec,size=512m,mode=1777",
        "/var/tmp": "rw,nosuid,nodev,exec,size=64m,mode=1777",
      },
      Mounts: [...mounts],
    },
  };
}

function toEnv({ env }: Command, { uid }: SandboxUser): string[] {
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
  return Object.entries({ ...own, ...env }).map(([name, value]) => `${name}=${value}`);
}

export type HolderContainer = {
  readonly imageId: string;
  readonly mounts: readonly MountSettings[];
  readonly labels: Readonly<Record<string, string>>;
};

/**
 * The container through which a session's volumes are read and written. It is created and never started, so the archive
 * calls neither wait for a turn's container nor fail on its read-only root.
 */
export function toHolderContainer({ imageId, labels, mounts }: HolderContainer): ContainerCreateOptions {
  return {
    Image: imageId,
    Entrypoint: ["/bin/sh"],
    Cmd: ["-c", "exit 0"],
    User: "0:0",
    Labels: { ...labels },
    HostConfig: {
      NetworkMode: "none",
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      LogConfig: { Type: "none", Config: {} },
      Mounts: [...mounts],
    },
  };
}
