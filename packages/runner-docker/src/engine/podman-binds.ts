import type { ContainerCreateOptions, MountSettings } from "dockerode";
import { BudgieError } from "@budgie/core";

/**
 * Podman writes mounts as one line of comma-separated values and reads that again, so a path with a comma or a quote goes
 * as a bind string instead, which in turn cannot hold a colon. Throws `WORKSPACE_INVALID` for a path with both.
 */
export function withPodmanBinds(options: ContainerCreateOptions): ContainerCreateOptions {
  const mounts = options.HostConfig?.Mounts ?? [];
  const odd = mounts.filter(({ Source, Target }) => /[",]/.test(Source + Target));
  const Mounts = mounts.filter((mount) => !odd.includes(mount));
  return { ...options, HostConfig: { ...options.HostConfig, Mounts, Binds: odd.map(toBind) } };
}

function toBind({ ReadOnly, Source, Target }: MountSettings): string {
  if (!/:/.test(Source + Target)) return `${Source}:${Target}:${ReadOnly === true ? "ro" : "rw"}`;
  throw new BudgieError(
    "WORKSPACE_INVALID",
    `Podman cannot mount "${Source}": its path holds a colon and a comma or a quote. Rename one of its folders, or use Docker.`,
  );
}
