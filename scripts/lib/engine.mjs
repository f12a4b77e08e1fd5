// What the scripts ask of the container engine. It is found as budgie finds it, so that both mean the same one.
import { homedir } from "node:os";
import { connectEngine } from "../../packages/runner-docker/dist/engine/engine.js";

/** Connects to the engine, or throws with a message that says what to do. */
export const openEngine = () => connectEngine(process.env, homedir());

/**
 * Lists every container and volume on the engine that a running or dead budgie made, and which one made it. By label or
 * by name: what lost its label would be left for ever.
 */
export async function listTraces(docker) {
  const [containers, { Volumes: volumes }] = await Promise.all([
    docker.listContainers({ all: true }),
    docker.listVolumes(),
  ]);
  return [
    ...containers.map(({ Names: [name = "?"], Labels }) => toTrace("container", name.replace(/^\//, ""), Labels)),
    ...(volumes ?? []).map(({ Name, Labels }) => toTrace("volume", Name, Labels)),
  ].filter(({ labelled, name }) => labelled || /^budgie-(?:turn|session|doctor)-/.test(name));
}

function toTrace(kind, name, labels) {
  return {
    name,
    title: `${kind} ${name}`,
    labelled: labels?.["dev.budgie"] !== undefined,
    instance: labels?.["dev.budgie.instance"],
    session: labels?.["dev.budgie.session"],
    lock: labels?.["dev.budgie.lock"],
  };
}
