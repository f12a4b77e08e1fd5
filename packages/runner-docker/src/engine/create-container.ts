import { setTimeout as sleep } from "node:timers/promises";
import type Docker from "dockerode";
import type { ContainerCreateOptions, MountSettings } from "dockerode";
import pLimit from "p-limit";
import { BudgieError } from "@budgie/core";
import { isNameTaken } from "./to-budgie-error.ts";
import type { Engine } from "./engine.ts";
import { findMade, findOwn, type OwnPlace } from "./find-own.ts";
import { removeContainer } from "./remove-container.ts";
import { ENDING_LIMIT_MS, timeLimit } from "./with-timeout.ts";

// Podman before 4.8 locks a new container's volumes in any order: creating two containers with the same volumes at once deadlocks the whole
// engine. https://github.com/containers/podman/pull/20329
const ONE_AT_A_TIME_BEFORE = 4.8;
const inTurn = pLimit(1);

/**
 * Creates a container by name. Everything else is in the request's body; dockerode would put it into the URL, secrets too. If
 * the name is taken, removes a container that belongs to this budgie, waits for a container of the same session that is being
 * removed, and throws `RUNNER_UNAVAILABLE` for any other container.
 */
export async function createContainer(
  { docker, name: engine, pendingRemovals, version }: Pick<Engine, "docker" | "name" | "pendingRemovals" | "version">,
  name: string,
  asked: Docker.ContainerCreateOptions,
): Promise<Docker.Container> {
  const isPodman = engine === "Podman";
  const body = isPodman ? withPodmanBinds(asked) : asked;
  const create = (): Promise<Docker.Container> =>
    docker.createContainer({ _query: { name }, _body: body, ...timeLimit() } as unknown as typeof asked);
  const place = { docker, name, labels: asked.Labels ?? {} };
  const isOneAtATime = isPodman && Number.parseFloat(version) < ONE_AT_A_TIME_BEFORE;
  try {
    const created = await createOnceFree(isOneAtATime ? () => inTurn(create) : create, place);
    pendingRemovals.trust();
    return created;
  } catch (error) {
    // The engine may create the container after budgie gave up the call.
    pendingRemovals.suspect(error);
    pendingRemovals.remove(async () => removeFound(docker, await findMade(place))).firstAttempt.catch(() => undefined);
    throw error;
  }
}

const PAUSE_MS = 50;

async function createOnceFree(create: () => Promise<Docker.Container>, place: OwnPlace): Promise<Docker.Container> {
  const until = performance.now() + ENDING_LIMIT_MS;
  for (;;) {
    try {
      return await create();
    } catch (error) {
      if (!isNameTaken(error) || performance.now() > until) throw error;
      // An engine frees the name some moments after it removed the container, so the next attempt waits.
      await removeFound(place.docker, await findOwn(place));
      await sleep(PAUSE_MS);
    }
  }
}

async function removeFound(docker: Docker, found: Docker.ContainerInspectInfo | undefined): Promise<void> {
  if (found !== undefined) await removeContainer(docker.getContainer(found.Id));
}

/**
 * Podman writes mounts as one line of comma-separated values and reads that again, so a path with a comma or a quote is passed as a bind
 * string instead, which in turn cannot hold a colon. Throws `WORKSPACE_INVALID` for a path with both.
 */
export function withPodmanBinds(options: ContainerCreateOptions): ContainerCreateOptions {
  const mounts = options.HostConfig?.Mounts ?? [];
  const odd = mounts.filter(({ Source, Target }) => /[",]/.test(Source + Target));
  const Mounts = mounts.filter((mount) => !odd.includes(mount));
  return { ...options, HostConfig: { ...options.HostConfig, Mounts, Binds: odd.map(formatBind) } };
}

function formatBind({ ReadOnly, Source, Target }: MountSettings): string {
  if (!/:/.test(Source + Target)) return `${Source}:${Target}:${ReadOnly === true ? "ro" : "rw"}`;
  throw new BudgieError(
    "WORKSPACE_INVALID",
    `Podman cannot mount "${Source}": its path holds a colon and a comma or a quote. Rename one of its folders, or use Docker.`,
  );
}
