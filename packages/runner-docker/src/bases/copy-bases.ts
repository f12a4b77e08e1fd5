import { randomUUID } from "node:crypto";
import type Docker from "dockerode";
import type { Owner, SessionId } from "@budgie/core";
import type { CopyBase, FilledEntry } from "@budgie/core/copies";
import { volumeMount } from "@budgie/sandbox/mounts";
import type { SandboxUser } from "@budgie/sandbox/profile";
import { createContainer } from "../engine/create-container.ts";
import type { Engine } from "../engine/engine.ts";
import { removeContainer } from "../engine/remove-container.ts";
import { ignoreMissing } from "../engine/to-budgie-error.ts";
import { parseLabels, toLabels } from "../engine/to-labels.ts";
import { timeLimit } from "../engine/with-timeout.ts";
import { ensureSessionImage } from "../image/ensure-session-image.ts";
import { toIdleContainer } from "../sandbox/container-options.ts";
import { chooseOldBases } from "./choose-old-bases.ts";
import { createCopyListing } from "./create-copy-listing.ts";
import { createVolume } from "./create-volume.ts";
import { readFolder } from "./overlay-volume.ts";

/** A session whose copy lies over a base. */
export type BaseHolder = {
  readonly session: SessionId;
  /** The folder at which entries are unpacked */
  readonly folder: string;
  /** Unpacks entries in the folder of the base's volume, or in a container that is being made and mounts it */
  readonly put: (
    into: readonly [folder: string, container: Promise<Docker.Container>],
    entries: AsyncIterable<FilledEntry>,
    over: AbortSignal,
  ) => Promise<void>;
};

/** The bases of this process, each a volume that no agent's container mounts. They go with the process. */
export type CopyBases = {
  /** Returns false once the engine has refused a copy over a base */
  readonly areUsable: () => boolean;
  readonly giveUp: () => void;
  /** Returns true once the engine has mounted a copy over a base */
  readonly areProven: () => boolean;
  readonly prove: () => void;
  /** Makes the base unless there is one with its id, and keeps it for the session. Resolves to its folder; `undefined` if no mount can name that */
  readonly hold: (base: CopyBase, holder: BaseHolder) => Promise<string | undefined>;
  /** Resolves to the folder of the session's base; `undefined` if it has none, or somebody removed it */
  readonly find: (session: SessionId) => Promise<string | undefined>;
  readonly release: (session: SessionId) => void;
  /** Lists an open copy, which may lie over a base */
  readonly list: ReturnType<typeof createCopyListing>;
  readonly close: () => Promise<void>;
};

type MadeBase = Pick<CopyBase, "directory"> & {
  readonly name: string;
  readonly folder: string;
  readonly sessions: Set<SessionId>;
};

type BasesOptions = {
  readonly engine: Engine;
  readonly owner: Owner;
  readonly user: SandboxUser;
  /** Set if sessions are kept, which would outlive their base */
  readonly keepSessionsMs?: number | undefined;
};

/** Creates the bases of a runner, of which there are none yet; `undefined` if copies may not share any. */
export function createCopyBases({ engine, keepSessionsMs, owner, user }: BasesOptions): CopyBases | undefined {
  // Where the engine maps users, overlays need other options.
  if (engine.name === "Podman" || engine.users !== "same" || keepSessionsMs !== undefined) return undefined;
  const { docker } = engine;
  const making = new Map<string, Promise<MadeBase | undefined>>();
  // The oldest first.
  const made = new Map<string, MadeBase>();
  const checking = new Map<MadeBase, Promise<boolean>>();
  const closing = new AbortController();
  let [isUsable, isProven] = [true, false];

  async function make({ directory, entries, id }: CopyBase, { folder: at, put }: BaseHolder) {
    const name = `budgie-base-${randomUUID()}`;
    const labels = toLabels(owner.record, "", "base");
    try {
      const folder = readFolder(await createVolume(docker, { Name: name, Labels: labels }));
      if (folder === undefined) {
        isUsable = false;
        await remove(name);
        return undefined;
      }
      // It stays, so that nobody who prunes volumes removes the base.
      const body = toIdleContainer(await ensureSessionImage(engine, user), labels, [volumeMount({ name, labels }, at)]);
      const container = createContainer(engine, name, body);
      const filled = await Promise.allSettled([container, put([folder, container], entries(), closing.signal)]);
      for (const part of filled) if (part.status === "rejected") throw part.reason;
      const base = { directory, name, folder, sessions: new Set<SessionId>() };
      made.set(id, base);
      return base;
    } catch (error) {
      await remove(name).catch(() => undefined);
      throw error;
    }
  }

  async function remove(name: string): Promise<void> {
    await removeContainer(docker.getContainer(name));
    await docker.getVolume(name).remove(timeLimit()).catch(ignoreMissing);
  }

  /** Returns true if the volume is still the one that was filled. Copies that are made at once need one answer of the engine. */
  function isThere(base: MadeBase): Promise<boolean> {
    const asked = checking.get(base) ?? check(base).finally(() => checking.delete(base));
    checking.set(base, asked);
    return asked;
  }

  async function check({ name }: MadeBase): Promise<boolean> {
    const found = await docker.getVolume(name).inspect(timeLimit()).catch(ignoreMissing);
    if (found === undefined || found === null) return false;
    const { isMadeForMount, owner: of, role } = parseLabels(found.Labels);
    return role === "base" && of.instance === owner.record.instance && !isMadeForMount;
  }

  function forget(base: MadeBase): void {
    for (const [id, one] of made) {
      if (one !== base) continue;
      made.delete(id);
      making.delete(id);
    }
  }

  function begin(base: CopyBase, holder: BaseHolder): Promise<MadeBase | undefined> {
    const promise = make(base, holder);
    making.set(base.id, promise);
    promise.catch(() => {
      if (making.get(base.id) === promise) making.delete(base.id);
    });
    return promise;
  }

  async function hold(base: CopyBase, holder: BaseHolder): Promise<string | undefined> {
    const known = made.get(base.id);
    if (known !== undefined && !(await isThere(known))) forget(known);
    // Whoever makes it may be cancelled, with the files that it read.
    const joined = making.get(base.id)?.catch(() => making.get(base.id) ?? begin(base, holder));
    const held = await (joined ?? begin(base, holder));
    if (held === undefined) return undefined;
    release(holder.session);
    held.sessions.add(holder.session);
    const old = chooseOldBases([...made.values()]);
    for (const one of old) forget(one);
    // Bases that stay are garbage of this process.
    await Promise.allSettled(old.map(({ name }) => remove(name)));
    return held.folder;
  }

  function release(session: SessionId): void {
    for (const { sessions } of made.values()) sessions.delete(session);
  }

  return {
    areUsable: () => isUsable,
    giveUp: () => void (isUsable = false),
    areProven: () => isProven,
    prove: () => void (isProven = true),
    hold,
    async find(session) {
      const held = [...made.values()].find(({ sessions }) => sessions.has(session));
      return held !== undefined && (await isThere(held)) ? held.folder : undefined;
    },
    release,
    list: createCopyListing(),
    async close() {
      closing.abort();
      await Promise.allSettled(making.values());
      const results = await Promise.allSettled([...made.values()].map(({ name }) => remove(name)));
      const failed = results.find((result) => result.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    },
  };
}
