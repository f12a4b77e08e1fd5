import type Docker from "dockerode";
import type { GcItem } from "@budgie/core";
import { timeLimit } from "../engine/with-timeout.ts";
import { OURS, parseLabels, type LabelFacts } from "../engine/to-labels.ts";
import { removeContainer } from "../engine/remove-container.ts";
import { removeVolume } from "../session/remove-volume.ts";

/** A container or volume with budgie's labels. */
export type LabelledThing = {
  readonly item: GcItem;
  readonly facts: LabelFacts;
  readonly isRunning: boolean;
  /** Removes it; resolves to the reason if it has to stay */
  readonly remove: () => Promise<string | undefined>;
};

/** Finds all containers and volumes of budgies on an engine, in the order in which they can be removed. */
export async function findLabelledThings(docker: Docker): Promise<readonly LabelledThing[]> {
  // A volume cannot be removed before the containers that mount it.
  return [...(await findContainers(docker)), ...(await findVolumes(docker))];
}

async function findContainers(docker: Docker): Promise<readonly LabelledThing[]> {
  const containers = await docker.listContainers({ all: true, filters: OURS, ...timeLimit() });
  const things = containers.map(({ Id, Labels, Names, State }): LabelledThing => {
    const facts = parseLabels(Labels);
    const name = Names[0]?.replace(/^\//, "") ?? Id;
    return {
      item: { kind: "container", name, session: facts.session || undefined },
      facts,
      isRunning: State === "running",
      remove: () => removeContainer(docker.getContainer(Id)).then(() => undefined),
    };
  });
  // Podman does not remove a session container whose network a turn has joined.
  const rank = ({ facts }: LabelledThing): number => (facts.role === "session" ? 1 : 0);
  return things.toSorted((a, b) => rank(a) - rank(b));
}

async function findVolumes(docker: Docker): Promise<readonly LabelledThing[]> {
  const { Volumes } = await docker.listVolumes({ filters: OURS, ...timeLimit() });
  return Volumes.map(({ Labels, Name }) => {
    const facts = parseLabels(Labels);
    const item = { kind: "volume", name: Name, session: facts.session || undefined } as const;
    return { item, facts, isRunning: false, remove: () => removeVolume(docker.getVolume(Name)) };
  });
}
