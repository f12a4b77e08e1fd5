// What the scripts ask of the container engine. It is found as budgie finds it, so that both mean the same one.
import { homedir } from "node:os";
import { connectEngine } from "../../packages/runner-docker/dist/engine.js";

const MADE_BY_BUDGIE = { filters: { label: ["dev.budgie"] } };

/** Connects to the engine, or throws with a message that says what to do. */
export const openEngine = () => connectEngine(process.env, homedir());

/** Names every container and volume on the engine that a running or dead budgie made. */
export async function listTraces(docker) {
  const [containers, { Volumes: volumes }] = await Promise.all([
    docker.listContainers({ all: true, ...MADE_BY_BUDGIE }),
    docker.listVolumes(MADE_BY_BUDGIE),
  ]);
  return [
    ...containers.map(({ Names: [name = "?"] }) => `container ${name.replace(/^\//, "")}`),
    ...(volumes ?? []).map(({ Name }) => `volume ${Name}`),
  ];
}
