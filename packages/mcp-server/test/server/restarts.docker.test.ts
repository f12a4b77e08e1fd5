import { describeRestarts } from "./describe-restarts.ts";
import { listTraces, openEngine } from "../../../cli/test/helpers/engine.ts";

describeRestarts({
  sandbox: true,
  leftovers: listTraces,
  async cleanUp(user) {
    const docker = await openEngine();
    for (const name of await listTraces(user)) await docker.getVolume(name).remove();
  },
});
