import { isNameTaken } from "../../../../runner-docker/src/engine/to-budgie-error.ts";
import { TEST_IMAGE } from "../../helpers/start-budgie.ts";
import type { FaultPlace } from "./fault-place.ts";

/** Creates a container with the name of another, which it removes; `undefined` if budgie has created that again in between for the next turn. */
export async function takeName(docker: FaultPlace["docker"], name: string) {
  // The creation fails if this does.
  await docker
    .getContainer(name)
    .remove({ force: true })
    .catch(() => undefined);
  return docker.createContainer({ name, Image: TEST_IMAGE, Entrypoint: ["true"] }).catch((error: unknown) => {
    if (!isNameTaken(error)) throw error;
    return undefined;
  });
}
