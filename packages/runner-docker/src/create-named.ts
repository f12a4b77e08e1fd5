import { setTimeout as sleep } from "node:timers/promises";
import type Docker from "dockerode";
import { BudgieError } from "@budgie/core";
import { ENDING_LIMIT_MS, withLimit } from "./api-limit.ts";
import { ignoreMissing, isNameTaken } from "./docker-errors.ts";
import type { Engine } from "./engine.ts";
import { parseLabels } from "./labels.ts";
import { withPodmanBinds } from "./podman-binds.ts";
import { removeContainer } from "./turn-process.ts";

/**
 * Creates a container by name, with everything else in the request's body: dockerode would put it, secrets too, in the URL. An
 * earlier container of this budgie's gives way, one of the same session that is being removed is waited for, and any other
 * keeps the name: `RUNNER_UNAVAILABLE`.
 */
export async function createNamed(
  { docker, name: engine, removals }: Pick<Engine, "docker" | "name" | "removals">,
  name: string,
  asked: Docker.ContainerCreateOptions,
): Promise<Docker.Container> {
  const body = engine === "Podman" ? withPodmanBinds(asked) : asked;
  const create = (): Promise<Docker.Container> =>
    docker.createContainer({ _query: { name }, _body: body, ...withLimit() } as unknown as typeof asked);
  const place = { docker, name, labels: asked.Labels ?? {} };
  try {
    const created = await createOnceFree(create, place);
    removals.trust();
    return created;
  } catch (error) {
    // A call that was given up may still have made it.
    removals.suspect(error);
    removals.remove(() => removeMade(place)).tried.catch(() => undefined);
    throw error;
  }
}

type Place = { readonly docker: Docker; readonly name: string; readonly labels: Labels };
type Labels = Readonly<Record<string, string>>;

const PAUSE_MS = 50;

async function createOnceFree(create: () => Promise<Docker.Container>, place: Place): Promise<Docker.Container> {
  const until = performance.now() + ENDING_LIMIT_MS;
  for (;;) {
    try {
      return await create();
    } catch (error) {
      if (!isNameTaken(error) || performance.now() > until) throw error;
      await freeName(place);
      await sleep(PAUSE_MS);
    }
  }
}

async function freeName({ docker, labels, name }: Place): Promise<void> {
  const found = await findNamed(docker, name);
  // An engine forgets a container some moments before its name.
  if (found === undefined) return;
  if (!isOwn(found, labels)) throw nameTaken(name);
  await removeContainer(docker.getContainer(found.Id));
}

/** Removes what the call made, and never a later container of the same name: that one was created at another time. */
async function removeMade({ docker, labels, name }: Place): Promise<void> {
  const found = await findNamed(docker, name);
  if (found === undefined || !hasAll(found.Config.Labels, labels)) return;
  await removeContainer(docker.getContainer(found.Id));
}

async function findNamed(docker: Docker, name: string): Promise<Docker.ContainerInspectInfo | undefined> {
  return (await docker.getContainer(name).inspect(withLimit()).catch(ignoreMissing)) ?? undefined;
}

/** Another budgie may have gone on with the session meanwhile: what it made is its own, unless it is going already. */
function isOwn({ Config, State }: Docker.ContainerInspectInfo, labels: Labels): boolean {
  const [found, own] = [parseLabels(Config.Labels), parseLabels(labels)];
  const isGoing = State.Status === "removing" || State.Status === "dead";
  return (
    hasAll(Config.Labels, OURS) &&
    found.session === own.session &&
    found.role === own.role &&
    (isGoing || found.owner.instance === own.owner.instance)
  );
}

const OURS: Labels = { "dev.budgie": "1" };

function hasAll(found: Labels | null | undefined, labels: Labels): boolean {
  return Object.entries(labels).every(([name, value]) => found?.[name] === value);
}

function nameTaken(name: string): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The engine has a container "${name}" that is not this budgie's, so it stays. Remove it with "docker rm -f ${name}", and ask again.`,
  );
}
