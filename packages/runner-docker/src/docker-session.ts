import type Docker from "dockerode";
import { BudgieError, type Command, type RunnerSession, type SessionId, type StartOptions } from "@budgie/core";
import { withLimit } from "./api-limit.ts";
import { SANDBOX, toHolderContainer } from "./container-options.ts";
import { ignoreMissing, toBudgieError } from "./docker-errors.ts";
import { createHomeArchive, type HomeArchive } from "./home-archive.ts";
import { toLabels } from "./labels.ts";
import { createLoginSync, type LoginNeed } from "./login-sync.ts";
import { toHolderMounts, type SessionVolumes } from "./mounts.ts";
import type { SandboxContext } from "./sandbox-context.ts";
import { createNamed, startTurn } from "./start-turn.ts";
import { removeContainer, type TurnProcess } from "./turn-process.ts";

const LARGEST_ANSWER_BYTES = 4 * 1024 * 1024;
const LARGEST_LOG_BYTES = 64 * 1024 * 1024;

/** Creates a session's volumes and its holder, and the session that works with them. */
export async function createDockerSession(context: SandboxContext, id: SessionId): Promise<RunnerSession> {
  const volumes: SessionVolumes = { home: `budgie-session-${id}`, auth: `budgie-session-${id}-auth` };
  await createVolumes(context, id, volumes);
  const holder = await createHolder(context, id, volumes);
  const archive = createHomeArchive(holder, context.engine.name, context.user);
  const { kiroDataDir, scratchDir } = context;
  const login = createLoginSync({ archive, kiroDataDir, scratchDir });
  const running = new Set<TurnProcess>();
  const leaving = new Set<Promise<void>>();

  async function start(command: Command, options: StartOptions): Promise<TurnProcess> {
    // One turn's container is gone before the next begins, a retry's above all.
    await Promise.all(leaving);
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

  return {
    id,
    paths: () => ({ workspace: SANDBOX.workspace, home: SANDBOX.home }),
    start,
    async readFile(name) {
      const content = await archive.readFile(checkName(name), LARGEST_ANSWER_BYTES);
      return content?.toString("utf8");
    },
    async appendFile(name, text) {
      await appendFile(archive, checkName(name), text);
    },
    async remove() {
      await Promise.all([...running].map((child) => child.stop("shutdown")));
      await Promise.all(leaving);
      await removeContainers(context.engine.docker, id);
      await removeVolumes(context.engine.docker, volumes);
    },
  };
}

function toLoginNeed({ env, login }: Command): LoginNeed {
  if (login === undefined) return "none";
  return env["KIRO_API_KEY"] === undefined ? "required" : "if-any";
}

async function createVolumes(
  { engine, image, owner }: SandboxContext,
  id: SessionId,
  volumes: SessionVolumes,
): Promise<void> {
  const create = (name: string, role: "home" | "auth"): Promise<unknown> =>
    engine.docker.createVolume({ Name: name, Labels: toLabels(owner.record, id, role), ...withLimit() });
  await refuseExisting(engine.docker, volumes.home, id);
  try {
    await Promise.all([create(volumes.home, "home"), create(volumes.auth, "auth")]);
  } catch (error) {
    await removeVolumes(engine.docker, volumes).catch(() => undefined);
    throw toBudgieError(error, image.name);
  }
}

/** The engine would hand out an existing volume without a word, and with it another owner's session. */
async function refuseExisting(docker: Docker, name: string, id: SessionId): Promise<void> {
  const exists = await docker
    .getVolume(name)
    .inspect(withLimit())
    .then(() => true, ignoreMissing);
  if (exists === undefined) return;
  throw new BudgieError(
    "SESSION_NOT_FOUND",
    `The session "${id}" belongs to another budgie. Leave its id out to begin a new one.`,
  );
}

async function createHolder(
  { engine, image, owner }: SandboxContext,
  id: SessionId,
  volumes: SessionVolumes,
): Promise<Docker.Container> {
  const labels = toLabels(owner.record, id, "holder");
  const options = toHolderContainer({ imageId: image.id, mounts: toHolderMounts(volumes), labels });
  return createNamed(engine.docker, `budgie-holder-${id}`, options);
}

/** All of them, by label: the holder, and what a call left that was given up before the engine answered. */
async function removeContainers(docker: Docker, id: SessionId): Promise<void> {
  const filters = { label: [`dev.budgie.session=${id}`] };
  const left = await docker.listContainers({ all: true, filters, ...withLimit() });
  await Promise.all(left.map(({ Id }) => removeContainer(docker.getContainer(Id))));
}

async function removeVolumes(docker: Docker, { auth, home }: SessionVolumes): Promise<void> {
  await Promise.all([home, auth].map((name) => docker.getVolume(name).remove(withLimit()).catch(ignoreMissing)));
}

async function appendFile(archive: HomeArchive, name: string, text: string): Promise<void> {
  const before = (await archive.readFile(name, LARGEST_LOG_BYTES)) ?? Buffer.alloc(0);
  const content = Buffer.concat([before, Buffer.from(text)]);
  await archive.write([{ path: `${SANDBOX.home}/${name}`, content, mode: 0o600 }]);
}

function checkName(name: string): string {
  if (/^[\w.-]+$/.test(name) && name !== "." && name !== "..") return name;
  throw new BudgieError("SESSION_UNUSABLE", `"${name}" is not the name of a file in a session's home.`);
}
