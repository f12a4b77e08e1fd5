import type { ContainerCreateOptions } from "dockerode";
import type { SandboxUser } from "@budgie/sandbox/profile";
import { SPOKEN_TO, toIsolation, type EngineLimits } from "./container-options.ts";
import { toMount, type ContainerMount } from "./to-mount.ts";

export type ProxyContainer = {
  readonly imageId: string;
  readonly user: SandboxUser;
  /** Such as `node` and the program's file */
  readonly command: readonly [string, ...string[]];
  readonly mounts: readonly ContainerMount[];
  /** As of a turn's container */
  readonly seccomp: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
};

/** Returns the options of the egress proxy's container, for engines that cannot mount a socket of budgie's process. */
export function toProxyContainer(proxy: ProxyContainer): ContainerCreateOptions {
  const { command, imageId, labels, mounts, seccomp, user } = proxy;
  return {
    Image: imageId,
    Entrypoint: [...command],
    Cmd: [],
    // The image must not change how node runs.
    Env: ["HOME=/", "NODE_OPTIONS="],
    // The same user as the session containers', which may use the proxy sockets.
    User: `${user.uid}:${user.gid}`,
    WorkingDir: "/",
    Labels: { ...labels },
    Healthcheck: { Test: ["NONE"] },
    ...SPOKEN_TO,
    HostConfig: {
      ...toIsolation(PROXY_LIMITS, seccomp),
      Init: true,
      NetworkMode: "bridge",
      Mounts: mounts.map(toMount),
    },
  };
}

const PROXY_LIMITS: EngineLimits = { memoryBytes: 512 * 1024 ** 2, cpus: 1, pids: 64 };
