// The scripts' access to the container engine. It is found like budgie's engine, so that both use the same one.
import { homedir } from "node:os";
import { connectEngine } from "../../packages/runner-docker/dist/engine/engine.js";

/** Connects to the engine, or throws with a message that says what to do. */
export const openEngine = () => connectEngine(process.env, homedir());

/**
 * Lists every container and volume on the engine that any budgie created, with that budgie. Finds them by label or by name, because
 * budgie never removes those without a label.
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
    kind,
    name,
    title: `${kind} ${name}`,
    labelled: labels?.["dev.budgie"] !== undefined,
    instance: labels?.["dev.budgie.instance"],
    session: labels?.["dev.budgie.session"],
    lock: labels?.["dev.budgie.lock"],
  };
}
