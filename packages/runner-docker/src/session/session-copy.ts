import { randomUUID } from "node:crypto";
import type Docker from "dockerode";
import { type Command, type SessionId, type StartOptions } from "@budgie/core";
import { orAborted } from "@budgie/core/bounds";
import type { CopyBase, FilledEntry, FoundEntry, ReadOptions, WorkspaceCopy } from "@budgie/core/copies";
import { DEFAULT_ACCESS, splitHidden, usesCopy } from "@budgie/core/policy";
import type { Standby, StandbyPlace } from "@budgie/core/standby";
import { findCopyCovers, volumeMount, type CopyCover, type Volume } from "@budgie/sandbox/mounts";
import type { BaseHolder } from "../bases/copy-bases.ts";
import { createOverlay, isCopyOf, isOverlay, isOverlayOn, listLayers, readFolder } from "../bases/overlay-volume.ts";
import { lostError, notOurs } from "../copier/copy-errors.ts";
import { createHostCopier } from "../copier/create-host-copier.ts";
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
import { removeUnused } from "./remove-volume.ts";
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
    /** Resolves once nothing in them runs */
    readonly lastStill: () => Promise<unknown>;
  };
};

type Signalled = { readonly signal?: AbortSignal | undefined };

/** The folder of the copy in the container through which it is filled and read. */
const FOLDER = "workspace";
const FILL_LABEL = "dev.budgie.fill";

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
  // The folder of the base over which nothing was written yet.
  let shown: string | undefined;
  let overlay: Awaited<ReturnType<typeof createOverlay>> | undefined;
  let keeping: Promise<unknown> = Promise.resolve();
  const place = { docker, name: `budgie-copy-${session}`, labels: toLabels(owner.record, session, "copy") };
  // Podman tells of a symlink's target instead of the symlink, and unpacks beneath volumes. On Docker a container that never runs is quicker.
  const find = (): Promise<Docker.Container> => keeping.then(findContainer);
  const host = { engine, folder: FOLDER, user };
  const archive = engine.name === "Podman" ? undefined : createHostCopier({ ...host, find, findFolder });
  const copier = archive ?? createCopier({ ...place, engine, folder: `/${FOLDER}`, prepare });
  const letGo = async (): Promise<void> => void (await Promise.all([keeping, held.letGo()]));
  // Other engines' containers have users of their own, or mounts that stay.
  const held = createHeldCopy(archive !== undefined && engine.users === "same", {
    list: bases && ((opened) => bases.list(opened, overlay)),
  });

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
    const layers = overlay !== undefined ? listLayers(volume.name) : [];
    const body = toIdleContainer(await ensureSessionImage(engine, user), place.labels, [
      volumeMount(volume, `/${FOLDER}`),
      // Nobody who prunes volumes may remove what the agent wrote.
      ...layers.map((name) => volumeMount({ name, labels: volume.labels }, `/layers/${name}`)),
    ]);
    return createContainer(engine, place.name, body);
  }

  /** Resolves to the copy's folder on this machine; `undefined` where budgie cannot use that. */
  async function findFolder(use: "fill" | "look"): Promise<string | undefined> {
    if (overlay !== undefined && use === "look") return shown;
    // The engine is the first to mount an overlay.
    if (overlay !== undefined && bases?.areProven() !== true) return undefined;
    return overlay?.upper ?? readFolder(await docker.getVolume(volume.name).inspect(timeLimit()));
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
    await removeUnused(docker, [volume.name, ...(bases === undefined ? [] : listLayers(volume.name))]);
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
    await letGo();
    await quiet();
    // Throws for another program's volume of this name.
    if (!isFirst) await fillId().then(removeAll);
    try {
      await make({ ...volume.labels, [FILL_LABEL]: id });
      await copier.unpack(entries, signal);
      isFresh = true;
      held.setFilled(true);
      // Its container is made while the turn's begins. One that is missing is made again where it is needed.
      keeping = archive === undefined ? keeping : findContainer().catch(() => undefined);
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
      overlay = undefined;
      shown = undefined;
      return docker.createVolume({ Name: volume.name, Labels: { ...Labels }, ...timeLimit() });
    };
    return fillAnew(make, entries, signal);
  }

  async function fillOver(base: CopyBase, { signal }: Signalled = {}): Promise<string | undefined> {
    if (bases?.areUsable() !== true) return undefined;
    const holder: BaseHolder = {
      session,
      folder: `/${FOLDER}`,
      put([at, container], of, over) {
        return createHostCopier({ ...host, find: () => container, findFolder: async () => at }).unpack(of, over);
      },
    };
    const holding = bases.hold(base, holder);
    const folder = await orAborted(holding, signal).catch((error: unknown) => {
      // A base that is made meanwhile is not this session's.
      void holding.then(() => bases.release(session)).catch(() => undefined);
      throw error;
    });
    if (folder === undefined) return undefined;
    const make = async (labels: Volume["labels"]) => {
      overlay = await createOverlay(docker, { base: folder, volume: { name: volume.name, labels } });
    };
    // An archive of nothing gives the folder to the sandbox's user, and the first has the engine mount it.
    const id = await fillAnew(make, (async function* () {})(), signal).catch((error: unknown) => {
      bases.release(session);
      if (statusOf(error) === undefined) throw error;
      bases.giveUp();
    });
    if (id === undefined) return undefined;
    shown = folder;
    bases.prove();
    return id;
  }

  async function* read({ take = () => false }: ReadOptions = {}): AsyncGenerator<FoundEntry> {
    await standby.clear();
    // The removal of the last turn's container need not be waited for.
    await processes.lastStill();
    if ((await fillId()) === undefined) throw lostError(session);
    yield* (archive && (await held.read({ take, readAgain: archive.readFile }))) ?? copier.pack();
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
    letGo,
    hold: async (sandbox, turn) => keeping.then(() => held.hold(sandbox, turn)),
    async findCovers(command, { access = DEFAULT_ACCESS }) {
      if (!usesCopy(access.workspace)) return undefined;
      await held.letGo();
      const wasFresh = isFresh;
      isFresh = false;
      if (!wasFresh) {
        shown = undefined;
        await quiet();
        if ((await fillId()) === undefined) throw lostError(session);
      }
      return findCopyCovers(copier.list, splitHidden(command).ofWorkspace);
    },
  };
}
