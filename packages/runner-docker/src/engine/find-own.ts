import type Docker from "dockerode";
import { BudgieError } from "@budgie/core";
import { timeLimit } from "./with-timeout.ts";
import { ignoreMissing } from "./to-budgie-error.ts";
import { parseLabels } from "./to-labels.ts";

/** The name of a container, and the labels that budgie gives it. */
export type OwnPlace = { readonly docker: Docker; readonly name: string; readonly labels: Labels };

type Labels = Readonly<Record<string, string>>;

/**
 * Finds a container of this budgie by name, session and role, or a container of the same session that is being removed.
 * Throws `RUNNER_UNAVAILABLE` if another container has the name.
 */
export async function findOwn(place: OwnPlace): Promise<Docker.ContainerInspectInfo | undefined> {
  const found = await findNamed(place);
  if (found === undefined || isOwn(found, place.labels)) return found;
  throw nameTaken(place.name);
}

/** Finds the container with exactly these labels, which include its creation time: a later container of the same name differs. */
export async function findMade(place: OwnPlace): Promise<Docker.ContainerInspectInfo | undefined> {
  const found = await findNamed(place);
  return found !== undefined && hasAll(found.Config.Labels, place.labels) ? found : undefined;
}

/** Returns true if the engine is removing a container, which keeps its name until then. */
export function isBeingRemoved({ Status }: Pick<Docker.ContainerInspectInfo["State"], "Status">): boolean {
  return Status === "removing" || Status === "dead";
}

async function findNamed({ docker, name }: OwnPlace): Promise<Docker.ContainerInspectInfo | undefined> {
  return (await docker.getContainer(name).inspect(timeLimit()).catch(ignoreMissing)) ?? undefined;
}

/** Returns true if a container belongs to this budgie, or is being removed. Another budgie may have taken over the session. */
function isOwn({ Config, State }: Docker.ContainerInspectInfo, labels: Labels): boolean {
  const [found, own] = [parseLabels(Config.Labels), parseLabels(labels)];
  return (
    hasAll(Config.Labels, { "dev.budgie": "1" }) &&
    found.session === own.session &&
    found.role === own.role &&
    (isBeingRemoved(State) || found.owner.instance === own.owner.instance)
  );
}

function hasAll(found: Labels | null | undefined, labels: Labels): boolean {
  return Object.entries(labels).every(([name, value]) => found?.[name] === value);
}

function nameTaken(name: string): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The engine has a container "${name}" that is not this budgie's, so it stays. Remove it with "docker rm -f ${name}", and ask again.`,
  );
}

/** A volume that several budgies share, and the label by which they know it. */
export type SharedVolume = {
  readonly name: string;
  readonly labels: Labels;
  /** Its purpose, such as `as a cache` */
  readonly purpose: string;
};

/** Finds a shared volume. Throws `RUNNER_UNAVAILABLE` if another program's has its name. */
export async function findSharedVolume(
  docker: Docker,
  { labels, name, purpose }: SharedVolume,
): Promise<Docker.VolumeInspectInfo | undefined> {
  const found = (await docker.getVolume(name).inspect(timeLimit()).catch(ignoreMissing)) ?? undefined;
  if (found === undefined || (isPlainVolume(found) && hasAll(found.Labels, labels))) return found;
  throw new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The volume "${name}" is not one that budgie made ${purpose}. Remove it: "docker volume rm ${name}".`,
  );
}

/** Returns true if a volume is a folder of the engine's own: another could be any folder. */
export function isPlainVolume({ Driver, Options }: Pick<Docker.VolumeInspectInfo, "Driver" | "Options">): boolean {
  return Driver === "local" && Object.keys(Options ?? {}).length === 0;
}
