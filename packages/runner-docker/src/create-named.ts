import type Docker from "dockerode";
import { withLimit } from "./api-limit.ts";
import type { Engine } from "./engine.ts";
import { withPodmanBinds } from "./podman-binds.ts";
import { removeContainer } from "./turn-process.ts";

/** Creates a container by name, with everything else in the request's body: dockerode would put it, secrets too, in the URL. */
export async function createNamed(
  { docker, name: engine, removals }: Pick<Engine, "docker" | "name" | "removals">,
  name: string,
  asked: Docker.ContainerCreateOptions,
): Promise<Docker.Container> {
  const body = engine === "Podman" ? withPodmanBinds(asked) : asked;
  const options = { _query: { name }, _body: body, ...withLimit() } as unknown as Docker.ContainerCreateOptions;
  try {
    return await docker.createContainer(options);
  } catch (error) {
    // A call that was given up may still have made it.
    removals.suspect(error);
    removals.remove(() => removeContainer(docker.getContainer(name))).tried.catch(() => undefined);
    throw error;
  }
}
