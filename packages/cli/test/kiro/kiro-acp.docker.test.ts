import { describeKiroAcp } from "./describe-kiro-acp.ts";
import { listTraces, openEngine } from "../helpers/engine.ts";

describeKiroAcp({
  sandbox: true,
  leftovers: listTraces,
  async cleanUp(user) {
    const docker = await openEngine();
    for (const name of await listTraces(user)) await docker.getVolume(name).remove();
  },
});
