import type Docker from "dockerode";
import { BudgieError, type Command, type RunnerSession, type SessionId, type StartOptions } from "@budgie/core";
import { withLimit } from "./api-limit.ts";
import { SANDBOX, toHolderContainer } from "./container-options.ts";
import { ignoreMissing, translated } from "./docker-errors.ts";
import { createHomeArchive, type HomeArchive } from "./home-archive.ts";
import { toLabels } from "./labels.ts";
import { createLoginSync, type LoginNeed } from "./login-sync.ts";
import { toHolderMounts, type SessionVolume, type SessionVolumes } from "./mounts.ts";
import type { SandboxContext } from "./sandbox-context.ts";
import { createNamed, startTurn } from "./start-turn.ts";
import { removeContainer, type TurnProcess } from "./turn-process.ts";

const LARGEST_ANSWER_BYTES = 4 * 1024 * 1024;
const LARGEST_LOG_BYTES = 64 * 1024 * 1024;

/** Creates a session's volumes and its holder, and the session that works with them. */
export async function createDockerSession(context: SandboxContext, id: SessionId): Promise<RunnerSession> {
  const { docker } = context.engine;
  const volumes = toVolumes(context, id);
  const told = <T>(call: Promise<T>): Promise<T> => translated(call, context.image.name);
  await told(createHome(context, id, volumes));
  // By name, since it may have to be made again.
  const archive = createHomeArchive(docker.getContainer(toHolderName(id)), context.engine.name, context.user);
  const { credentials, kiroDataDir, scratchDir } = context;
  const login = createLoginSync({ archive, credentials, kiroDataDir, scratchDir });
  const starting = new Set<Promise<unknown>>();
  const running = new Set<TurnProcess>();
  const leaving = new Set<Promise<void>>();
  let removed = false;

  async function start(command: Command, options: StartOptions): Promise<TurnProcess> {
    // One turn's container is gone before the next begins, a retry's above all.
    await Promise.all(leaving);
    await ensureHolder(context, id, volumes);
    const prepareHome = (): Promise<void> =>
      running.size > 0 ? Promise.resolve() : login.prepare(toLoginNeed(command));
    const child = await startTurn({ context, session: id, volumes, command, options, prepareHome });
    running.add(child);
    const leave = (): void => {
      running.delete(child);
      leaving.add(child.gone);
      void child.gone.then(() => leaving.delete(child.gone));
    };
    child.exit.then(leave, leave);
    return child;
  }

  async function remove(): Promise<void> {
    removed = true;
    // What is just starting would hold the volumes, and be left alone with them.
    await Promise.allSettled(starting);
    await Promise.all([...running].map((child) => child.stop("shutdown")));
    await Promise.all(leaving);
    await removeContainers(docker, id);
    await removeVolumes(docker, volumes);
  }

  return {
    id,
    paths: () => ({ workspace: SANDBOX.workspace, home: SANDBOX.home }),
    async start(command, options) {
      if (removed) throw sessionEnded(id);
      const started = told(start(command, options));
      starting.add(started);
      return started.finally(() => starting.delete(started));
    },
    async readFile(name) {
      const content = await told(archive.readFile(checkName(name), LARGEST_ANSWER_BYTES));
      return content?.toString("utf8");
    },
    async appendFile(name, text) {
      await told(appendFile(archive, checkName(name), text));
    },
    remove: () => told(remove()),
  };
}

function toLoginNeed({ env, login }: Command): LoginNeed {
  if (login === undefined) return "none";
  return env["KIRO_API_KEY"] ? "if-any" : "required";
}

function toVolumes({ owner }: SandboxContext, id: SessionId): SessionVolumes {
  return {
    home: { name: `budgie-session-${id}`, labels: toLabels(owner.record, id, "home") },
    auth: { name: `budgie-session-${id}-auth`, labels: toLabels(owner.record, id, "auth") },
  };
}

async function createHome(context: SandboxContext, id: SessionId, volumes: SessionVolumes): Promise<void> {
  const { docker } = context.engine;
  const create = ({ labels, name }: SessionVolume): Promise<unknown> =>
    docker.createVolume({ Name: name, Labels: { ...labels }, ...withLimit() });
  await refuseExisting(docker, volumes.home, id);
  try {
    await Promise.all([create(volumes.home), create(volumes.auth)]);
    await createHolder(context, id, volumes);
  } catch (error) {
    await removeVolumes(docker, volumes).catch(() => undefined);
    throw error;
  }
}

/** The engine would hand out an existing volume without a word, and with it another owner's session. */
async function refuseExisting(docker: Docker, { name }: SessionVolume, id: SessionId): Promise<void> {
  if (!(await exists(docker.getVolume(name)))) return;
  throw new BudgieError(
    "SESSION_NOT_FOUND",
    `The session "${id}" belongs to another budgie. Leave its id out to begin a new one.`,
  );
}

async function exists(thing: Docker.Volume | Docker.Container): Promise<boolean> {
  return (await thing.inspect(withLimit()).then(() => true, ignoreMissing)) ?? false;
}

const toHolderName = (id: SessionId): string => `budgie-holder-${id}`;

async function createHolder(
  { engine, image, owner }: SandboxContext,
  id: SessionId,
  volumes: SessionVolumes,
): Promise<void> {
  const labels = toLabels(owner.record, id, "holder");
  const options = toHolderContainer({ imageId: image.id, mounts: toHolderMounts(volumes), labels });
  await createNamed(engine.docker, toHolderName(id), options);
}

/** Makes the holder again if it was pruned: it never runs. Without it the volumes may be gone too, and an engine makes new ones. */
async function ensureHolder(context: SandboxContext, id: SessionId, volumes: SessionVolumes): Promise<void> {
  const { docker } = context.engine;
  if (await exists(docker.getContainer(toHolderName(id)))) return;
  const kept = await Promise.all([volumes.home, volumes.auth].map(({ name }) => exists(docker.getVolume(name))));
  if (kept.includes(false)) {
    throw new BudgieError(
      "SESSION_UNUSABLE",
      `The volumes of session "${id}" were removed by somebody else. Begin a new session.`,
    );
  }
  await createHolder(context, id, volumes);
}

/** All of them, by label: the holder, and what a call left that was given up before the engine answered. */
async function removeContainers(docker: Docker, id: SessionId): Promise<void> {
  const filters = { label: [`dev.budgie.session=${id}`] };
  const left = await docker.listContainers({ all: true, filters, ...withLimit() });
  await Promise.all(left.map(({ Id }) => removeContainer(docker.getContainer(Id))));
}

async function removeVolumes(docker: Docker, { auth, home }: SessionVolumes): Promise<void> {
  await Promise.all([home, auth].map(({ name }) => docker.getVolume(name).remove(withLimit()).catch(ignoreMissing)));
}

async function appendFile(archive: HomeArchive, name: string, text: string): Promise<void> {
  const before = (await archive.readFile(name, LARGEST_LOG_BYTES)) ?? Buffer.alloc(0);
  const content = Buffer.concat([before, Buffer.from(text)]);
  await archive.write([{ path: `${SANDBOX.home}/${name}`, content, mode: 0o600 }]);
}

function sessionEnded(id: SessionId): BudgieError {
  return new BudgieError("SESSION_NOT_FOUND", `The session "${id}" has ended. Leave its id out to begin a new one.`);
}

function checkName(name: string): string {
  if (/^[\w.-]+$/.test(name) && name !== "." && name !== "..") return name;
  throw new BudgieError("SESSION_UNUSABLE", `"${name}" is not the name of a file in a session's home.`);
}
