import type Docker from "dockerode";
import { BudgieError, type SessionId } from "@budgie/core";
import { forEachOf } from "@budgie/core/walk";
import type { Volume, Volumes } from "@budgie/sandbox/mounts";
import { listLayers } from "../bases/overlay-volume.ts";
import { isPlainVolume } from "../engine/find-own.ts";
import { timeLimit } from "../engine/with-timeout.ts";
import { ignoreMissing } from "../engine/to-budgie-error.ts";
import { createSessionContainer, type SessionContainer, type ContainerParts } from "./session-container.ts";
import { parseLabels, toLabels, type LabelFacts } from "../engine/to-labels.ts";
import type { SandboxContext } from "./sandbox-context.ts";
import { removeContainer } from "../engine/remove-container.ts";

/**
 * The origin of a session's home. `new`: created; `ephemeral`: removed with its owner; `ahead`: created before a call needs it; `kept`: kept
 * by its last owner.
 */
export type HomeOrigin = "new" | "ephemeral" | "ahead" | "kept";

/** Returns the names and labels of a session's volumes. */
export function sessionVolumes(
  { keepSessionsMs, owner }: SandboxContext,
  id: SessionId,
  origin: HomeOrigin,
): Volumes & { readonly copy: Volume } {
  const keep =
    keepSessionsMs === undefined || origin === "ephemeral" ? {} : { "dev.budgie.keep-ms": String(keepSessionsMs) };
  // Without it, garbage collection would keep the home of a session that no call ever took.
  const ahead = origin === "ahead" ? { "dev.budgie.ahead": "1" } : {};
  return {
    home: { name: volumeNames(id).home, labels: { ...toLabels(owner.record, id, "home"), ...keep, ...ahead } },
    auth: { name: volumeNames(id).auth, labels: toLabels(owner.record, id, "auth") },
    copy: { name: volumeNames(id).copy, labels: { ...toLabels(owner.record, id, "copy"), ...keep } },
  };
}

/** Creates a session's volumes and its container. Removes everything if one fails. */
export async function createHome(context: SandboxContext, parts: ContainerParts): Promise<SessionContainer> {
  const { docker, pendingRemovals } = context.engine;
  const { proxySocket, session, volumes } = parts;
  try {
    if ((await findVolume(docker, volumes.home.name)) !== undefined) throw notOurs(session);
    try {
      await forEachOf([volumes.home, volumes.auth], 2, (volume) => createVolume(docker, volume));
      return await createSessionContainer(context, parts);
    } catch (error) {
      pendingRemovals.suspect(error);
      await pendingRemovals.remove(() => removeHome(docker, session, volumes)).firstAttempt.catch(() => undefined);
      throw error;
    }
  } catch (error) {
    await proxySocket.remove();
    throw error;
  }
}

/** Opens the home that a dead owner kept, and creates the session's other volume and container again. The home survives a failure. */
export async function resumeHome(context: SandboxContext, parts: ContainerParts): Promise<SessionContainer> {
  try {
    await refuseOwned(context, parts.session);
    return await reopenHome(context, parts);
  } catch (error) {
    await parts.proxySocket.remove();
    throw error;
  }
}

async function reopenHome(context: SandboxContext, parts: ContainerParts): Promise<SessionContainer> {
  const { docker, pendingRemovals } = context.engine;
  const { session, volumes } = parts;
  const find = async () => (await listContainers(docker, session)).filter(isOfSession);
  // A killed budgie left the session's container, and perhaps a turn's.
  await removeEach(await find(), docker);
  await removeVolumes(docker, [volumes.auth.name]);
  try {
    await createVolume(docker, volumes.auth);
    return await createSessionContainer(context, parts);
  } catch (error) {
    pendingRemovals.suspect(error);
    const removeOwn = async (): Promise<void> => {
      const found = await find();
      const own = found.filter(({ Labels }) => isOwn(context, Labels));
      await removeEach(own, docker);
      if (own.length === found.length) await removeVolumes(docker, [volumes.auth.name]);
    };
    await pendingRemovals.remove(removeOwn).firstAttempt.catch(() => undefined);
    throw error;
  }
}

/** Returns true if a container belongs to this budgie: another one may have taken over the session meanwhile. */
function isOwn({ owner }: SandboxContext, labels: Readonly<Record<string, string>>): boolean {
  return parseLabels(labels).owner.instance === owner.record.instance;
}

/** Returns true if a container belongs to the session, and not to a program that exports its home. */
function isOfSession({ Labels }: Docker.ContainerInfo): boolean {
  return parseLabels(Labels).role !== "reader";
}

async function removeHome(docker: Docker, id: SessionId, { auth, home }: Volumes): Promise<void> {
  await removeContainers(docker, id);
  await removeVolumes(docker, [home.name, auth.name]);
}

/** Removes all of a session's containers by label, also those of calls that budgie gave up before the engine answered. */
export async function removeContainers(docker: Docker, id: SessionId): Promise<void> {
  await removeEach(await listContainers(docker, id), docker);
}

async function removeEach(left: readonly Docker.ContainerInfo[], docker: Docker): Promise<void> {
  const isSessionContainer = ({ Labels }: Docker.ContainerInfo): boolean => parseLabels(Labels).role === "session";
  const remove = ({ Id }: Docker.ContainerInfo): Promise<void> => removeContainer(docker.getContainer(Id));
  // Podman does not remove a session container whose network a turn has joined.
  await Promise.all(left.filter((container) => !isSessionContainer(container)).map(remove));
  await Promise.all(left.filter(isSessionContainer).map(remove));
}

/** Removes volumes that no container uses, and ignores missing ones. */
export async function removeVolumes(docker: Docker, names: readonly string[]): Promise<void> {
  await Promise.all(names.map((name) => docker.getVolume(name).remove(timeLimit()).catch(ignoreMissing)));
}

/** Returns the names of a session's volumes. */
export function volumeNames(id: SessionId) {
  const home = `budgie-session-${id}`;
  const copy = `${home}-copy`;
  const [upper, work] = listLayers(copy);
  return { home, auth: `${home}-auth`, copy, upper, work };
}

/**
 * Finds the labels of the volume with a session's home. Throws `SESSION_NOT_FOUND` unless budgie created it: another
 * program's volume of that name could be any folder.
 */
export async function findHome(docker: Docker, id: SessionId): Promise<LabelFacts> {
  const { home } = volumeNames(id);
  const found = await findVolume(docker, home);
  if (found === undefined) {
    throw new BudgieError(
      "SESSION_NOT_FOUND",
      `The volume of the session "${id}" is gone. Leave its id out to begin a new one.`,
    );
  }
  const facts = parseLabels(found.Labels);
  if (facts.role === "home" && facts.session === id && isPlainVolume(found) && !facts.isMadeForMount) return facts;
  throw new BudgieError(
    "SESSION_NOT_FOUND",
    `The volume "${home}" is not one that budgie made for the session "${id}". Leave its id out to begin a new one.`,
  );
}

function listContainers(docker: Docker, id: SessionId): Promise<Docker.ContainerInfo[]> {
  return docker.listContainers({ all: true, filters: { label: [`dev.budgie.session=${id}`] }, ...timeLimit() });
}

type VolumeFacts = Docker.VolumeInspectInfo | undefined;

async function findVolume(docker: Docker, name: string): Promise<VolumeFacts> {
  return (await docker.getVolume(name).inspect(timeLimit()).catch(ignoreMissing)) ?? undefined;
}

async function createVolume(docker: Docker, { labels, name }: Volume): Promise<void> {
  await docker.createVolume({ Name: name, Labels: { ...labels }, ...timeLimit() });
}

async function refuseOwned({ engine, owner }: SandboxContext, id: SessionId): Promise<void> {
  const made = await findHome(engine.docker, id);
  // The home's labels name its creator, and the session container's labels its present owner.
  const containers = (await listContainers(engine.docker, id)).filter(isOfSession);
  const owners = [made, ...containers.map(({ Labels }) => parseLabels(Labels))].map((thing) => thing.owner);
  // A budgie that resumes a session found it in the state directory.
  const states = await Promise.all(owners.map((record) => owner.stateOf(record, "state-directory")));
  if (states.some((state) => state === "live" || state === "foreign")) throw notOurs(id);
}

/** Returns the error for a session of another owner, whose volume the engine would silently reuse. */
function notOurs(id: SessionId): BudgieError {
  return new BudgieError(
    "SESSION_NOT_FOUND",
    `The session "${id}" belongs to another budgie. Leave its id out to begin a new one.`,
  );
}
