// What the scripts ask of the container engine. It is found as budgie finds it, so that both mean the same one.
import { homedir } from "node:os";
import { connectEngine } from "../../packages/runner-docker/dist/engine.js";

const MADE_BY_BUDGIE = { filters: { label: ["dev.budgie"] } };

/** Connects to the engine, or throws with a message that says what to do. */
export const openEngine = () => connectEngine(process.env, homedir());

/** Lists every container and volume on the engine that a running or dead budgie made, and which one made it. */
export async function listTraces(docker) {
  const [containers, { Volumes: volumes }] = await Promise.all([
    docker.listContainers({ all: true, ...MADE_BY_BUDGIE }),
    docker.listVolumes(MADE_BY_BUDGIE),
  ]);
  return [
    ...containers.map(({ Names: [name = "?"], Labels }) => toTrace(`container ${name.replace(/^\//, "")}`, Labels)),
    ...(volumes ?? []).map(({ Name, Labels }) => toTrace(`volume ${Name}`, Labels)),
  ];
}

function toTrace(title, labels) {
  return { title, instance: labels["dev.budgie.instance"], session: labels["dev.budgie.session"] };
}
