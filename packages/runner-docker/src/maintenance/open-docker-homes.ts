import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import type Docker from "dockerode";
import type { Owner, SessionHomes, SessionId } from "@budgie/core";
import { volumeMount } from "@budgie/sandbox/mounts";
import { chooseSandboxUser } from "@budgie/sandbox/profile";
import { API_LIMIT_MS, destroyWhenIdle, withTimeout } from "../engine/with-timeout.ts";
import { toSessionContainer } from "../sandbox/container-options.ts";
import { createContainer } from "../engine/create-container.ts";
import { translated } from "../engine/to-budgie-error.ts";
import { connectEngine, type Engine } from "../engine/engine.ts";
import type { HostEnvironment } from "../engine/find-endpoints.ts";
import { ensureSessionImage } from "../image/ensure-session-image.ts";
import { toLabels } from "../engine/to-labels.ts";
import { listSessions } from "./list-sessions.ts";
import { measureTurns } from "./measure-turns.ts";
import { packHome } from "./pack-home.ts";
import { findHome, removeContainers, removeVolumes, volumeNames } from "../session/session-volumes.ts";
import { removeContainer } from "../engine/remove-container.ts";

export type DockerHomesOptions = {
  /** The owner of the containers through which homes are read; the caller releases it */
  readonly owner: Owner;
  readonly stateDir: string;
  readonly home: string;
  readonly hostEnv: HostEnvironment;
};

/** Opens the homes on the user's engine; needs no image. Throws `RUNNER_UNAVAILABLE` if there is no engine. */
export async function openDockerHomes(options: DockerHomesOptions): Promise<SessionHomes> {
  const engine = await connectEngine(options.hostEnv, options.home);
  const { docker } = engine;
  const { owner, stateDir } = options;
  const scratchDir = join(stateDir, "scratch", owner.record.instance);

  async function remove(id: SessionId): Promise<void> {
    await removeContainers(docker, id);
    await removeVolumes(docker, Object.values(volumeNames(id)));
  }

  return {
    list: () => translate(listSessions(docker, owner)),
    remove: (id) => translate(remove(id)),
    measure: (ids) => translate(measureTurns(docker, ids)),
    async pack(id, to, { logins, signal }) {
      await owner.hold();
      const container = await translate(createReader(engine, owner, id));
      try {
        const archive = await translate(fetchHome(container, signal));
        return await translate(packHome({ archive, to, scratchDir, signal, logins }));
      } finally {
        await translate(removeContainer(container));
        await rm(scratchDir, { recursive: true, force: true });
      }
    },
  };
}

/** Fetches the archive of `/home`. It fails if the engine hangs before or during the answer, but not if the reader is slow. */
async function fetchHome(container: Docker.Container, signal: AbortSignal): Promise<Readable> {
  const over = new AbortController();
  const abortSignal = AbortSignal.any([signal, over.signal]);
  const answered = container.getArchive({ path: "/home", abortSignal }) as Promise<Readable>;
  const archive = await withTimeout(answered, API_LIMIT_MS).catch((error: unknown) => {
    over.abort();
    throw error;
  });
  return destroyWhenIdle(archive);
}

/** Translates errors, which can only be about the session image. */
function translate<T>(call: Promise<T>): Promise<T> {
  return translated(call, "budgie-session");
}

/** Creates a container that never runs and mounts only the home, read-only. */
async function createReader(engine: Engine, owner: Owner, id: SessionId): Promise<Docker.Container> {
  await findHome(engine.docker, id);
  // The image of the caller's sessions, so that the engine needs no other.
  const caller = chooseSandboxUser({ uid: process.getuid?.(), gid: process.getgid?.() }, engine.users);
  const body = toSessionContainer({
    imageId: await ensureSessionImage(engine, caller),
    user: { uid: 65_534, gid: 65_534 },
    mounts: [{ ...volumeMount({ name: volumeNames(id).home, labels: {} }, "/home"), isReadOnly: true }],
    socketPath: "/nowhere",
    seccomp: undefined,
    labels: toLabels(owner.record, id, "reader"),
  });
  return createContainer(engine, `budgie-reader-${id}-${randomBytes(4).toString("hex")}`, body);
}
