import { randomUUID } from "node:crypto";
import { lstat, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { OwnerState } from "@budgie/core/owners";
import {
  BudgieError,
  type GcPolicy,
  type GcReport,
  type HomeRecord,
  type Owner,
  type SessionHomes,
  type SessionId,
} from "@budgie/core";
import { fillVolume } from "../files/fill-volume.ts";
import { packVolume } from "../files/pack-volume.ts";
import type { Volume } from "../requests/index.ts";
import type { LivePod } from "../session/live-pod.ts";
import { collectKept, type HeldInPods } from "./collect-kept.ts";
import { exportHome } from "./export-home.ts";
import { createKeptRecords, toFull, type KeptFile, type KeptRecord, type PackedState } from "./kept-records.ts";
import { loadFile, storeFile } from "./store-file.ts";

/** The sessions of all owners that are packed in a state directory. */
export type KeptStore = {
  readonly list: () => Promise<readonly HomeRecord[]>;
  /** Begins a session of this owner, of which nothing is packed. Throws `SESSION_NOT_FOUND` if another owner has one of this id */
  readonly begin: (id: SessionId, keepMs: number | undefined) => Promise<void>;
  /**
   * Makes a dead owner's session this owner's, and resolves to what was packed of it. If it was changed since, `adopt` has to find its Pod, and
   * resolves to true then. Throws `SESSION_NOT_FOUND` if it is gone, was lost with its Pod, or is another owner's. The caller makes sure that
   * only one process tries.
   */
  readonly take: (id: SessionId, taking: Taking) => Promise<PackedFacts>;
  /** Packs what a Pod has of a session, in which no process runs. What was packed before stays unless it resolves */
  readonly pack: (pod: LivePod, packing: Packing) => Promise<void>;
  /** Fills a new Pod with what was packed. The Pod is good for nothing unless it resolves */
  readonly restore: (pod: LivePod, id: SessionId, signal?: AbortSignal) => Promise<void>;
  /** Notes that a session is about to be changed in a Pod, so that what was packed of it is out of date */
  readonly markStale: (id: SessionId) => Promise<void>;
  /** Writes a home as `SessionHomes.pack` does. Throws `SESSION_UNUSABLE` if a Pod has a newer one */
  readonly exportHome: SessionHomes["pack"];
  /** Removes all that is packed of a session */
  readonly remove: (id: SessionId) => Promise<void>;
  /** Removes what dead owners left, but no session that has a Pod */
  readonly collectGarbage: (policy: GcPolicy, inPods?: HeldInPods) => Promise<GcReport>;
};

/** The facts about what was packed of a session. */
type PackedFacts = {
  /** True if there is something to restore */
  readonly isPacked: boolean;
  /** The id of the fill of its copy, if that is packed */
  readonly fillId: string | undefined;
};

type Taking = {
  readonly keepMs: number | undefined;
  readonly adopt: () => Promise<boolean>;
};

/** The session to pack. */
type Packing = {
  readonly session: SessionId;
  /** The id of its copy's fill; `undefined` if it has no copy */
  readonly fillId: string | undefined;
  /** The limits of the Pod's volumes */
  readonly limits: { readonly homeBytes: number; readonly copyBytes: number };
  /** Time after its last use during which another runner can resume it; `undefined` if it ends with this one */
  readonly keepMs: number | undefined;
  readonly signal?: AbortSignal | undefined;
};

// Files with holes and second names take more than on the Pod's disk, and empty files take only records.
const RECORDS_FACTOR = 2;

/** Opens the sessions that are kept in a state directory. */
export function createKeptSessions({
  owner,
  stateDir,
}: {
  readonly owner: Owner;
  readonly stateDir: string;
}): KeptStore {
  const records = createKeptRecords(stateDir);

  async function begin(id: SessionId, keepMs: number | undefined): Promise<void> {
    await owner.hold();
    const record = await records.find(id);
    if (record !== undefined && (await stateOf(record)) !== "own") throw notOurs(id);
    if (record === undefined) await records.write({ id, owner: owner.record, created: new Date(), keepMs });
  }

  async function take(id: SessionId, { adopt, keepMs }: Taking): Promise<PackedFacts> {
    await owner.hold();
    const record = await records.find(id);
    if (record === undefined) throw goneError(id);
    if (!["dead", "own"].includes(await stateOf(record))) throw notOurs(id);
    const { isStale, packed } = record;
    if (isStale === true) {
      if (!(await adopt())) throw staleError(id);
    } else if (packed !== undefined && !(await isWhole(record, packed))) throw goneError(id);
    await records.write({ ...record, owner: owner.record, keepMs });
    // A Pod has newer files than what was packed.
    const state = isStale === true ? undefined : packed;
    return { isPacked: state !== undefined, fillId: state?.work?.fillId };
  }

  function stateOf(record: KeptRecord): Promise<OwnerState> {
    return owner.stateOf(record.owner, "state-directory");
  }

  /** Resolves to true if the files of a session are there, at their lengths. */
  async function isWhole({ id }: KeptRecord, { home, work }: PackedState): Promise<boolean> {
    const files = work === undefined ? [home] : [home, work];
    const facts = await Promise.all(
      files.map(({ name }) => lstat(join(records.folderOf(id), name)).catch(() => undefined)),
    );
    return facts.every((found, index) => found?.isFile() === true && found.size === files[index]?.bytes);
  }

  async function pack(pod: LivePod, { fillId, keepMs, limits, session: id, signal }: Packing): Promise<void> {
    await owner.hold();
    const before = await records.find(id);
    const record = { id, owner: owner.record, created: before?.created ?? new Date(), keepMs };
    // Written before there are files: garbage collection finds them by the record only.
    await records.write({ ...record, packed: before?.packed, isStale: before?.isStale });
    await mkdir(records.folderOf(id), { recursive: true, mode: 0o700 });
    try {
      const store = (volume: Volume, limit: number) =>
        storeVolume({ pod, volume, mostBytes: RECORDS_FACTOR * limit, folder: records.folderOf(id), signal });
      // The Pod refuses to pack the copy while a process runs.
      const work = fillId === undefined ? undefined : { ...(await store("work", limits.copyBytes)), fillId };
      const home = await store("home", limits.homeBytes);
      const packed = work === undefined ? { home } : { home, work };
      await records.write({ ...record, packed });
    } finally {
      await removeOthers(id);
    }
  }

  /** Removes the files that a session's record does not name. */
  async function removeOthers(id: SessionId): Promise<void> {
    const record = await records.find(id);
    // A record that is no more says nothing of its files.
    if (record === undefined) return;
    const { packed } = record;
    const named = new Set([packed?.home.name, packed?.work?.name]);
    for (const name of await readdir(records.folderOf(id)))
      if (!named.has(name)) await rm(join(records.folderOf(id), name), { recursive: true, force: true });
  }

  async function restore(pod: LivePod, id: SessionId, signal?: AbortSignal): Promise<void> {
    const { packed } = (await records.find(id)) ?? {};
    if (packed === undefined) throw goneError(id);
    const fill = (volume: Volume, file: KeptFile & { readonly fillId?: string }) => {
      const bytes = loadFile(join(records.folderOf(id), file.name), file);
      return fillVolume(pod.wire, {
        volume,
        isPacked: true,
        fillId: file.fillId,
        records: Readable.from(bytes, { objectMode: false }),
        signal,
      });
    };
    await fill("home", packed.home);
    if (packed.work !== undefined) await fill("work", packed.work);
  }

  async function markStale(id: SessionId): Promise<void> {
    const record = await records.find(id);
    if (record !== undefined && record.isStale !== true) await records.write({ ...record, isStale: true });
  }

  async function list(): Promise<readonly HomeRecord[]> {
    const { records: all } = await records.list();
    return Promise.all(
      all.map(async (record): Promise<HomeRecord> => {
        const { created, id } = record;
        return { id, created, home: records.folderOf(id), owner: await stateOf(record) };
      }),
    );
  }

  return {
    list,
    begin,
    take,
    pack: (pod, packing) =>
      pack(pod, packing).catch((error: unknown) => {
        throw toFull(error, packing.session);
      }),
    restore,
    markStale,
    exportHome: (id, to, options) => exportHome(records, { ...options, id, to }),
    remove: records.remove,
    collectGarbage: (policy, inPods = new Set()) => collectKept({ records, owner, inPods }, policy),
  };
}

type Storing = {
  readonly pod: LivePod;
  readonly volume: Volume;
  readonly mostBytes: number;
  readonly folder: string;
  readonly signal: AbortSignal | undefined;
};

async function storeVolume({ folder, mostBytes, pod, signal, volume }: Storing): Promise<KeptFile> {
  signal?.throwIfAborted();
  const { pieces, stop } = packVolume(pod.wire, volume);
  signal?.addEventListener("abort", stop, { once: true });
  try {
    return await storeFile(pieces, join(folder, `${volume}-${randomUUID()}`), mostBytes);
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener("abort", stop);
    stop();
  }
}

function goneError(id: SessionId): BudgieError {
  return notFound(`Nothing is kept of the session ${id}.`);
}

function staleError(id: SessionId): BudgieError {
  return notFound(
    `The session ${id} was lost with its Pod: its budgie ended before it could keep what the agent did last.`,
  );
}

function notOurs(id: SessionId): BudgieError {
  return notFound(`The session ${id} does not belong to this budgie.`);
}

function notFound(what: string): BudgieError {
  return new BudgieError("SESSION_NOT_FOUND", `${what} Leave the session id out to begin a new session.`);
}
