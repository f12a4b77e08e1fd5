import type Docker from "dockerode";
import { withLimit } from "./api-limit.ts";
import { removeContainer } from "./turn-process.ts";

/** Creates a container by name, with everything else in the request's body: dockerode would put it, secrets too, in the URL. */
export async function createNamed(
  docker: Docker,
  name: string,
  body: Docker.ContainerCreateOptions,
): Promise<Docker.Container> {
  const options = { _query: { name }, _body: body, ...withLimit() } as unknown as Docker.ContainerCreateOptions;
  try {
    return await docker.createContainer(options);
  } catch (error) {
    // A call that was given up may still have made it.
    void removeContainer(docker.getContainer(name)).catch(() => undefined);
    throw error;
  }
}
