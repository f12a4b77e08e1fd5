import type Docker from "dockerode";
import type { GcItem } from "@budgie/core";
import { withLimit } from "../engine/time-limits.ts";
import { ignoreMissing, statusOf } from "../engine/docker-errors.ts";
import { OURS, parseLabels, type LabelFacts } from "../engine/labels.ts";
import { removeContainer } from "../engine/remove-container.ts";

/** Something on the engine that carries budgie's labels. */
export type LabelledThing = {
  readonly item: GcItem;
  readonly facts: LabelFacts;
  readonly isRunning: boolean;
  /** Answers why it stays after all, or with nothing if it is gone */
  readonly remove: () => Promise<string | undefined>;
};

/** Finds all that budgies made on an engine, in the order in which it can be removed. */
export async function findLabelledThings(docker: Docker): Promise<readonly LabelledThing[]> {
  // A volume cannot go before the containers that mention it.
  return [...(await findContainers(docker)), ...(await findVolumes(docker))];
}

async function findContainers(docker: Docker): Promise<readonly LabelledThing[]> {
  const containers = await docker.listContainers({ all: true, filters: OURS, ...withLimit() });
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
  const { Volumes } = await docker.listVolumes({ filters: OURS, ...withLimit() });
  return Volumes.map(({ Labels, Name }) => {
    const facts = parseLabels(Labels);
    const item = { kind: "volume", name: Name, session: facts.session || undefined } as const;
    return { item, facts, isRunning: false, remove: () => removeVolume(docker.getVolume(Name)) };
  });
}

async function removeVolume(volume: Docker.Volume): Promise<string | undefined> {
  try {
    await volume.remove(withLimit());
  } catch (error) {
    // One that was made meanwhile, such as by a budgie that went on with the session.
    if (statusOf(error) === 409) return "a container uses it";
    ignoreMissing(error);
  }
  return undefined;
}
