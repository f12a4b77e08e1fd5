import type Docker from "dockerode";
import { withLimit } from "./api-limit.ts";
import type { Engine } from "./engine.ts";
import { withPodmanBinds } from "./podman-binds.ts";
import { removeContainer } from "./turn-process.ts";

export type ContainerName = {
  readonly name: string;
  /** Whether another one may be given this name, so that it says nothing of whose container it is later */
  readonly isReused?: boolean;
};

/** Creates a container by name, with everything else in the request's body: dockerode would put it, secrets too, in the URL. */
export async function createNamed(
  { docker, name: engine, removals }: Pick<Engine, "docker" | "name" | "removals">,
  { isReused = false, name }: ContainerName,
  asked: Docker.ContainerCreateOptions,
): Promise<Docker.Container> {
  const body = engine === "Podman" ? withPodmanBinds(asked) : asked;
  const options = { _query: { name }, _body: body, ...withLimit() } as unknown as Docker.ContainerCreateOptions;
  try {
    const created = await docker.createContainer(options);
    removals.trust();
    return created;
  } catch (error) {
    // A call that was given up may still have made it.
    removals.suspect(error);
    const remove = (): Promise<unknown> => removeContainer(docker.getContainer(name));
    (isReused ? remove() : removals.remove(remove).tried).catch(() => undefined);
    throw error;
  }
}
