import { homedir } from "node:os";
import { connectEngine, type Engine } from "../../../runner-docker/src/engine/engine.ts";
import type { BudgieUser } from "./start-budgie.ts";

/** The engine of the tests, used directly and not through budgie. */
export async function openEngine(): Promise<Engine["docker"]> {
  const { docker } = await connectEngine(process.env, homedir());
  return docker;
}

/** Lists the names of all containers, volumes and networks that this user's budgies created. */
export function listTraces({ host }: BudgieUser): Promise<readonly string[]> {
  return listTracesBelow(host.home);
}

/** Lists the same for budgies whose state is in a folder, on the tests' engine or another. */
export async function listTracesBelow(folder: string, engine?: Engine["docker"]): Promise<readonly string[]> {
  const docker = engine ?? (await openEngine());
  const ours = { filters: { label: ["dev.budgie"] } };
  const [containers, { Volumes }, networks] = await Promise.all([
    docker.listContainers({ all: true, ...ours }),
    docker.listVolumes(ours),
    docker.listNetworks(ours),
  ]);
  const all = [
    ...containers.map(({ Labels, Names }) => ({ name: Names[0] ?? "?", labels: Labels })),
    ...Volumes.map(({ Labels, Name }) => ({ name: Name, labels: Labels })),
    ...networks.map(({ Labels = {}, Name }) => ({ name: Name, labels: Labels })),
  ];
  return all.filter(({ labels }) => labels["dev.budgie.lock"]?.startsWith(folder)).map(({ name }) => name);
}

/** Removes the volumes that this user's budgies kept on purpose. Returns the names of all that they left. */
export async function removeKept(user: BudgieUser): Promise<readonly string[]> {
  const docker = await openEngine();
  const traces = await listTraces(user);
  for (const name of traces) if (!isContainer(name)) await docker.getVolume(name).remove();
  return traces;
}

/** Tells whether the name of a trace is that of a container. */
export function isContainer(name: string): boolean {
  return name.startsWith("/");
}

/** Removes the volume with an image's programs, if a sandbox of another image has used them. */
export async function removePrograms(image: string): Promise<void> {
  const docker = await openEngine();
  const { Id } = await docker.getImage(image).inspect();
  const { Volumes } = await docker.listVolumes({ filters: { label: [`dev.budgie-programs.image=${Id}`] } });
  for (const { Name } of Volumes) await docker.getVolume(Name).remove();
}
