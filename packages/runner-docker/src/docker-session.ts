import type Docker from "dockerode";
import { BudgieError, type Command, type RunnerSession, type SessionId, type StartOptions } from "@budgie/core";
import { withLimit } from "./api-limit.ts";
import { SANDBOX } from "./container-options.ts";
import { ignoreMissing, translated } from "./docker-errors.ts";
import { createHomeArchive, type HomeArchive } from "./home-archive.ts";
import { createHolder, type Holder, type HolderParts } from "./holder.ts";
import { parseLabels, toLabels } from "./labels.ts";
import { createLoginSync, type LoginNeed } from "./login-sync.ts";
import type { SessionVolume, SessionVolumes } from "./mounts.ts";
import { readHomeFile } from "./read-home-file.ts";
import type { SandboxContext } from "./sandbox-context.ts";
import { createSessionEgress, type TurnNetwork } from "./session-egress.ts";
import { EVERYTHING, startTurn } from "./start-turn.ts";
import { removeContainer, type TurnProcess } from "./turn-process.ts";

const LARGEST_ANSWER_BYTES = 4 * 1024 * 1024;
const LARGEST_LOG_BYTES = 64 * 1024 * 1024;

/** Creates a session's volumes and its holder, and the session that works with them. */
export async function createDockerSession(context: SandboxContext, id: SessionId): Promise<RunnerSession> {
  const { docker } = context.engine;
  const volumes = toVolumes(context, id);
  const told = <T>(call: Promise<T>): Promise<T> => translated(call, context.image.name);
  const door = await told(context.doors.reserve());
  const holder = await told(createHome(context, { session: id, volumes, door }));
  const egress = createSessionEgress({ holder, place: door, live: context.live });
  const archive = createHomeArchive(holder.container, context.user);
  const { credentials, kiroDataDir, scratchDir } = context;
  const login = createLoginSync({ archive, credentials, kiroDataDir, scratchDir });
  const starting = new Set<Promise<unknown>>();
  const running = new Set<TurnProcess>();
  const leaving = new Set<Promise<void>>();
  let visited = false;
  let removed = false;

  async function start(command: Command, options: StartOptions): Promise<TurnProcess> {
    // One turn's container is gone before the next begins, a retry's above all.
    await Promise.all(leaving);
    await holder.ensure();
    const prepareHome = (): Promise<void> =>
      running.size > 0 ? Promise.resolve() : login.prepare(toLoginNeed(command));
    const checkMountPoints = async (paths: readonly string[]): Promise<void> => {
      // No agent has been in a new home.
      if (visited) await archive.checkMountPoints(paths);
    };
    const network = egress.enter((options.access ?? EVERYTHING).egress);
    const turn = { context, session: id, volumes, command, options, network, prepareHome, checkMountPoints };
    const child = await startTurn(turn).catch(async (error: unknown) => {
      await network.leave();
      throw error;
    });
    visited = true;
    running.add(child);
    const leave = (): void => {
      running.delete(child);
      leaving.add(child.gone);
      void child.gone.then(() => leaving.delete(child.gone));
    };
    child.exit.then(leave, leave);
    const depart = (): ReturnType<TurnNetwork["leave"]> => network.leave();
    const report = child.exit.then(depart, depart);
    return network.isWatched ? { ...child, egress: report } : child;
  }

  async function remove(): Promise<void> {
    removed = true;
    // What is just starting would hold the volumes, and be left alone with them.
    await Promise.allSettled(starting);
    await Promise.all([...running].map((child) => child.stop("shutdown")));
    await Promise.all(leaving);
    await egress.close();
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
      const file = checkName(name);
      const content =
        (await readHomeFile(holder.container, file, LARGEST_ANSWER_BYTES)) ??
        (await told(archive.readFile(file, LARGEST_ANSWER_BYTES)));
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

async function createHome(context: SandboxContext, parts: HolderParts): Promise<Holder> {
  const { docker } = context.engine;
  const { door, session, volumes } = parts;
  const create = ({ labels, name }: SessionVolume): Promise<unknown> =>
    docker.createVolume({ Name: name, Labels: { ...labels }, ...withLimit() });
  try {
    await refuseExisting(docker, volumes.home, session);
    try {
      await Promise.all([create(volumes.home), create(volumes.auth)]);
      return await createHolder(context, parts);
    } catch (error) {
      await removeVolumes(docker, volumes).catch(() => undefined);
      throw error;
    }
  } catch (error) {
    await door.remove();
    throw error;
  }
}

/** The engine would hand out an existing volume without a word, and with it another owner's session. */
async function refuseExisting(docker: Docker, { name }: SessionVolume, id: SessionId): Promise<void> {
  if ((await docker.getVolume(name).inspect(withLimit()).catch(ignoreMissing)) === undefined) return;
  throw new BudgieError(
    "SESSION_NOT_FOUND",
    `The session "${id}" belongs to another budgie. Leave its id out to begin a new one.`,
  );
}

/** All of them, by label: the holder, and what a call left that was given up before the engine answered. */
async function removeContainers(docker: Docker, id: SessionId): Promise<void> {
  const filters = { label: [`dev.budgie.session=${id}`] };
  const left = await docker.listContainers({ all: true, filters, ...withLimit() });
  const isHolder = ({ Labels }: Docker.ContainerInfo): boolean => parseLabels(Labels).role === "holder";
  // Podman does not remove one whose network another has joined.
  for (const group of [left.filter((one) => !isHolder(one)), left.filter(isHolder)]) {
    await Promise.all(group.map(({ Id }) => removeContainer(docker.getContainer(Id))));
  }
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
