import type { ContainerCreateOptions } from "dockerode";
import { toIsolation, ULIMITS, type EngineLimits, type SandboxContainer } from "./container-options.ts";
import { toMount } from "./to-mount.ts";

export type ServiceContainer = Pick<
  SandboxContainer,
  "hasUlimits" | "imageId" | "labels" | "mounts" | "seccomp" | "user"
> & {
  /** The program and its arguments */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
};

/** Returns the name of a service's container. */
export function toContainerName(session: string, service: string): string {
  return `budgie-session-${session}-${service}`;
}

/** Returns the options of a service's container: a sandbox's isolation, the image's own variables and directory, and no network. */
export function toServiceContainer(service: ServiceContainer): ContainerCreateOptions {
  const { command, env, hasUlimits, imageId, labels, mounts, seccomp, user } = service;
  return {
    Image: imageId,
    Entrypoint: [...command],
    Cmd: [],
    Env: Object.entries(env).map((one) => one.join("=")),
    User: `${user.uid}:${user.gid}`,
    Labels: { ...labels },
    Healthcheck: { Test: ["NONE"] },
    HostConfig: {
      ...toIsolation(SERVICE_LIMITS, seccomp),
      CpuShares: 512,
      Ulimits: hasUlimits ? ULIMITS : [],
      // Its last words, should it not start.
      LogConfig: { Type: "json-file", Config: { "max-size": "1m", "max-file": "1" } },
      Init: true,
      NetworkMode: "none",
      Tmpfs: {
        "/tmp": "rw,nosuid,nodev,noexec,size=512m,mode=1777",
        "/run": "rw,nosuid,nodev,noexec,size=64m,mode=1777",
      },
      Mounts: mounts.map(toMount),
    },
  };
}

const SERVICE_LIMITS: EngineLimits = { memoryBytes: 1024 ** 3, cpus: 1, pids: 256 };
