import { randomUUID } from "node:crypto";
import type Docker from "dockerode";
import { BudgieError, type Command, type SessionId, type StartOptions } from "@budgie/core";
import { orAborted } from "@budgie/core/bounds";
import type { CopyBase, FilledEntry, FoundEntry, ReadOptions, WorkspaceCopy } from "@budgie/core/copies";
import { DEFAULT_ACCESS, splitHidden, usesCopy } from "@budgie/core/policy";
import type { Standby, StandbyPlace } from "@budgie/core/standby";
import { volumeMount, type CopyCover, type Volume } from "@budgie/sandbox/mounts";
import { createOverlay, isCopyOf, isOverlay, isOverlayOn, listLayers } from "../bases/overlay-volume.ts";
import { createArchiveCopier, unpackInto } from "../copier/create-archive-copier.ts";
import { createCopier } from "../copier/create-copier.ts";
import { createHeldCopy, type HeldCopy } from "../copier/held-copy.ts";
import { createContainer } from "../engine/create-container.ts";
import { findOwn } from "../engine/find-own.ts";
import { removeContainer } from "../engine/remove-container.ts";
import { ignoreMissing, statusOf, toBudgieError, translated } from "../engine/to-budgie-error.ts";
import { parseLabels, toLabels } from "../engine/to-labels.ts";
import { timeLimit } from "../engine/with-timeout.ts";
import { ensureSessionImage } from "../image/ensure-session-image.ts";
import { toIdleContainer, type PrintingContainer } from "../sandbox/container-options.ts";
import { findCopyCovers } from "./find-copy-covers.ts";
import { removeVolume } from "./remove-volume.ts";
import type { HomeOrigin } from "./session-volumes.ts";
import type { SandboxContext } from "./sandbox-context.ts";

/** A session's copy of its workspace, and the covers that a sandbox needs over it. */
export type SessionCopy = WorkspaceCopy &
  Pick<HeldCopy, "hold" | "letGo"> & {
    /**
     * Finds the covers of a start on the copy; `undefined` for one on the directory itself. Throws `SESSION_UNUSABLE` if there is no copy, and
     * `WORKSPACE_INVALID` if it cannot be covered
     */
    findCovers(command: Command, options: StartOptions): Promise<readonly CopyCover[] | undefined>;
  };

export type CopyPlace = {
  readonly session: SessionId;
  readonly volume: Volume;
  /** Only a kept session may have a copy already */
  readonly origin: HomeOrigin;
  /** The place of what its next turn takes */
  readonly standby: Pick<StandbyPlace<Standby>, "clear">;
  readonly processes: {
    /** Resolves once the containers of turns that have ended are removed */
    readonly lastGone: () => Promise<unknown>;
  };
};

type Signalled = { readonly signal?: AbortSignal | undefined };

/** The folder of the copy in the container through which it is filled and read. */
const FOLDER = "workspace";
const FILL_LABEL = "dev.budgie.fill";
const FILL_LIMIT_MS = 30 * 60_000;

/** Opens a session's copy: a volume, which a container mounts that never runs. Neither exists before the first fill. */
export function createSessionCopy(
  context: Pick<SandboxContext, "copyBases" | "engine" | "ensureSeccomp" | "image" | "owner" | "user">,
  { origin, processes, session, standby, volume }: CopyPlace,
): SessionCopy {
  const { copyBases: bases, engine, owner, user } = context;
  const { docker, pendingRemovals } = engine;
  let lastFill: string | undefined;
  // True for a copy in which no process of the session has run yet.
  let isFresh = false;
  let isOver = false;
  const place = { docker, name: `budgie-copy-${session}`, labels: toLabels(owner.record, session, "copy") };
  // Podman tells of a symlink's target instead of the symlink, and unpacks beneath volumes. On Docker a container that never runs is quicker.
  const archive =
    engine.name === "Podman" ? undefined : createArchiveCopier({ find: findContainer, folder: FOLDER, user });
  const copier = archive ?? createCopier({ ...place, engine, folder: `/${FOLDER}`, prepare });
  const held = createHeldCopy();

  async function prepare(): Promise<Omit<PrintingContainer, "command">> {
    const imageId = await ensureSessionImage(engine, user);
    const mounts = [volumeMount(volume, `/${FOLDER}`, false)];
    return { imageId, labels: place.labels, mounts, runtime: undefined, seccomp: context.ensureSeccomp(), user };
  }

  /** Ends whatever of the session may still use the copy. */
  async function quiet(): Promise<void> {
    await standby.clear();
    await processes.lastGone();
  }

  async function findContainer(): Promise<Docker.Container> {
    const found = await findOwn(place);
    if (found !== undefined) return docker.getContainer(found.Id);
    const layers = isOver ? listLayers(volume.name) : [];
    const body = toIdleContainer(await ensureSessionImage(engine, user), place.labels, [
      volumeMount(volume, `/${FOLDER}`),
      // Nobody who prunes volumes may remove what the agent wrote.
      ...layers.map((name) => volumeMount({ name, labels: volume.labels }, `/layers/${name}`)),
    ]);
    return createContainer(engine, place.name, body);
  }

  async function fillId(): Promise<string | undefined> {
    const found = await docker.getVolume(volume.name).inspect(timeLimit()).catch(ignoreMissing);
    if (found === undefined || found === null) return undefined;
    const { isMadeForMount } = parseLabels(found.Labels);
    if (!isCopyOf(session, found)) throw notOurs(volume.name);
    if (isOverlay(found) && !(await hasBase(found))) return undefined;
    // The engine made it, empty, in place of one that somebody removed.
    return isMadeForMount ? undefined : found.Labels?.[FILL_LABEL];
  }

  async function hasBase(found: Docker.VolumeInspectInfo): Promise<boolean> {
    const base = await bases?.find(session);
    return base !== undefined && isOverlayOn(base, found);
  }

  async function removeAll(): Promise<void> {
    const found = await findOwn(place);
    if (found !== undefined) await removeContainer(docker.getContainer(found.Id));
    for (const name of [volume.name, ...(bases === undefined ? [] : listLayers(volume.name))]) {
      const inUse = await removeVolume(docker.getVolume(name));
      if (inUse !== undefined) throw inUseError(name, inUse);
    }
  }

  /** Makes the volume and its container anew, and fills them; removes both if that fails. */
  async function fillAnew(
    make: (labels: Volume["labels"]) => Promise<unknown>,
    entries: AsyncIterable<FilledEntry>,
    signal: AbortSignal | undefined,
  ): Promise<string> {
    const id = randomUUID();
    const isFirst = origin !== "kept" && lastFill === undefined;
    lastFill = id;
    isFresh = false;
    held.setFilled(false);
    await held.letGo();
    await quiet();
    // Throws for another program's volume of this name.
    if (!isFirst) await fillId().then(removeAll);
    try {
      await make({ ...volume.labels, [FILL_LABEL]: id });
      await copier.unpack(entries, withinLimit(signal));
      isFresh = true;
      held.setFilled(true);
    } catch (error) {
      pendingRemovals.suspect(error);
      // Repeated while the engine does not answer, perhaps until another fill has taken its place.
      const undo = async (): Promise<void> => (lastFill === id ? removeAll() : undefined);
      await pendingRemovals.remove(undo).firstAttempt.catch(() => undefined);
      throw error;
    }
    return id;
  }

  function fill(entries: AsyncIterable<FilledEntry>, { signal }: Signalled = {}): Promise<string> {
    const make = (Labels: Volume["labels"]) => {
      isOver = false;
      return docker.createVolume({ Name: volume.name, Labels: { ...Labels }, ...timeLimit() });
    };
    return fillAnew(make, entries, signal);
  }

  async function fillOver(base: CopyBase, { signal }: Signalled = {}): Promise<string | undefined> {
    if (bases?.areUsable() !== true) return undefined;
    const put = (container: Docker.Container, of: AsyncIterable<FilledEntry>, over: AbortSignal) =>
      unpackInto(container, of, { folder: FOLDER, user, signal: withinLimit(over) });
    const holder = { session, folder: `/${FOLDER}`, put };
    const holding = bases.hold(base, holder);
    const folder = await orAborted(holding, signal).catch((error: unknown) => {
      // A base that is made meanwhile is not this session's.
      void holding.then(() => bases.release(session)).catch(() => undefined);
      throw error;
    });
    if (folder === undefined) return undefined;
    const make = (labels: Volume["labels"]) => {
      isOver = true;
      return createOverlay(docker, { base: folder, volume: { name: volume.name, labels } });
    };
    // An archive of nothing gives the folder to the sandbox's user, and is the first to have it mounted.
    return fillAnew(make, (async function* () {})(), signal).catch((error: unknown) => {
      bases.release(session);
      if (statusOf(error) === undefined) throw error;
      bases.giveUp();
      return undefined;
    });
  }

  async function* read({ isKnown = () => false }: ReadOptions = {}): AsyncGenerator<FoundEntry> {
    await quiet();
    if ((await fillId()) === undefined) throw lostError(session);
    yield* (archive && (await held.read({ isKnown, readAgain: archive.readFile }))) ?? copier.pack();
  }

  const translate = <T>(call: Promise<T>): Promise<T> => translated(call, context.image.name);
  return {
    fillId: () => translate(fillId()),
    fill: (entries, options) => translate(fill(entries, options)),
    ...(bases === undefined ? {} : { fillOver: (base, options) => translate(fillOver(base, options)) }),
    async *read(options) {
      try {
        yield* read(options);
      } catch (error) {
        throw toBudgieError(error, context.image.name);
      }
    },
    letGo: held.letGo,
    // Other engines' containers have users of their own, or mounts that stay.
    hold: async (sandbox, covers) => (engine.users === "same" ? held.hold(sandbox, covers) : undefined),
    async findCovers(command, { access = DEFAULT_ACCESS }) {
      if (!usesCopy(access.workspace)) return undefined;
      await held.letGo();
      const wasFresh = isFresh;
      isFresh = false;
      if (!wasFresh) {
        await quiet();
        if ((await fillId()) === undefined) throw lostError(session);
      }
      return findCopyCovers(copier.list, splitHidden(command).ofWorkspace);
    },
  };
}

function withinLimit(signal?: AbortSignal): AbortSignal {
  return AbortSignal.any([AbortSignal.timeout(FILL_LIMIT_MS), ...(signal === undefined ? [] : [signal])]);
}

function notOurs(name: string): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The volume "${name}" is not one that budgie made for a copy. Remove it: "docker volume rm ${name}".`,
  );
}

function inUseError(name: string, why: string): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The volume "${name}" of the session's copy cannot be made anew: ${why}. Remove that container, and ask again.`,
  );
}

function lostError(session: SessionId): BudgieError {
  return new BudgieError("SESSION_UNUSABLE", `The copy of session "${session}" is gone. Begin a new session.`);
}
