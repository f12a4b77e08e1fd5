import { randomBytes } from "node:crypto";
import { BudgieError } from "@budgie/core";
import type { Manifest } from "@budgie/core/copies";
import { createChangeArchive, type ChangeArchive, type ChangeRecord, type ListedSets } from "@budgie/store";
import { createObjectStore, type ObjectStore } from "../objects/object-store.ts";
import { advanceBase } from "./advance-base.ts";
import type { ApplyOutcome, Change, ChangeSet } from "./change-set.ts";
import { listDigests } from "./list-digests.ts";
import { collectChangeSet, type CollectOptions } from "./collect-change-set.ts";

export type { AppliedPath, ApplyOutcome, Unapplied } from "./change-set.ts";

/** A change set with its state. */
export type StoredSet = Omit<ChangeRecord, "content" | "outcome"> & {
  readonly set: ChangeSet;
  readonly outcome: ApplyOutcome | undefined;
};

/** The limits of stored change sets, beyond which the oldest are removed. */
export type KeepChanges = { readonly maxAgeMs: number; readonly maxBytes: number };

export const DEFAULT_KEEP_CHANGES: KeepChanges = { maxAgeMs: 7 * 24 * 60 * 60 * 1000, maxBytes: 1024 ** 3 };

/** The change sets of a state directory. */
export type ChangeSets = {
  readonly archive: ChangeArchive;
  readonly objects: ObjectStore;
  /** Collects and stores the changes of a copy since what was applied of it; `undefined` if there are none. Removes expired sets */
  readonly collect: (
    options: Omit<CollectOptions, "objects"> & { readonly startedMs?: number | undefined },
  ) => Promise<StoredSet | undefined>;
  /** Returns a session's base with what was applied of its sets since it was read at `startedMs` */
  readonly advance: (sessionId: string, base: Manifest, startedMs?: number) => Promise<Manifest>;
  /** Lists the sets for the directory of this device and inode of which something may still be applied, the newest first */
  readonly listOpen: (root: string) => Promise<readonly StoredSet[]>;
  /** Lists all sets, the newest first */
  readonly list: () => Promise<readonly StoredSet[]>;
  /** Finds the set whose id begins with `id`; throws `INPUT_INVALID` if there is none or more than one */
  readonly find: (id: string) => Promise<StoredSet>;
  /** Marks a pending set as discarded; its contents go. Throws `INPUT_INVALID` for one that is applied */
  readonly discard: (id: string) => Promise<StoredSet>;
  readonly close: () => void;
};

type ChangeSetsOptions = {
  readonly stateDir: string;
  readonly keep?: KeepChanges;
  /** Returns true for an expired set that is still needed, as while a copy is filled again; default: none is */
  readonly isNeeded?: (set: Pick<StoredSet, "id" | "sessionId">) => Promise<boolean>;
};

/** Opens the change sets of a state directory. Creates nothing before the first is collected. */
export function createChangeSets({
  isNeeded = async () => false,
  keep = DEFAULT_KEEP_CHANGES,
  stateDir,
}: ChangeSetsOptions): ChangeSets {
  const archive = createChangeArchive({ stateDir });
  const objects = createObjectStore({ stateDir });

  async function list(of?: ListedSets): Promise<readonly StoredSet[]> {
    return (await archive.list(of)).map(toStored);
  }

  async function find(id: string): Promise<StoredSet> {
    return toStored(await archive.find(id));
  }

  /** Marks what a session had pending as replaced, since its copy has no changes any more. */
  async function replaceAll(sessionId: string): Promise<void> {
    for (const stored of await list({ sessionId })) {
      if (isOpen(stored)) await archive.update(stored.id, "replaced");
    }
  }

  async function expire(): Promise<void> {
    const busy = new Set((await archive.journals()).map(({ changeId }) => changeId));
    const expired: string[] = [];
    for (const set of findExpired(await archive.sizes(), keep)) {
      if (!busy.has(set.id) && !(await isNeeded(set))) expired.push(set.id);
    }
    if (expired.length > 0) await archive.remove(expired);
    const needed = new Set(await archive.digests());
    await objects.prune((digest) => needed.has(digest));
  }

  return {
    archive,
    objects,
    advance: async (sessionId, base, startedMs) => advanceBy(await list({ sessionId }), base, startedMs),
    listOpen: (root) => list({ openIn: root }),
    list: () => list(),
    find,
    async collect({ startedMs, ...options }) {
      const known = await list({ sessionId: options.sessionId });
      const base = advanceBy(known, options.base, startedMs);
      const { bytes, set } = await collectChangeSet({ ...options, base, objects });
      const isEmpty = set.changes.length + set.omitted + set.gitPaths === 0;
      if (isEmpty) await replaceAll(set.sessionId);
      else {
        const { agent, createdMs, directory, id, root, sessionId } = set;
        await objects.flush();
        const token = randomBytes(12).toString("base64url");
        const digests = listDigests({ set, state: "pending", outcome: undefined });
        // Applied changes are in the base, unless they were taken back since.
        const isAgain = known.some((earlier) => earlier.id === id && listApplied(earlier).length > 0);
        const facts = { id, sessionId, agent, directory, root, createdMs, bytes, token };
        await archive.save({ ...facts, content: set, digests, isAgain });
      }
      await expire();
      return isEmpty ? undefined : find(set.id);
    },
    async discard(id) {
      const stored = await find(id);
      if (!isOpen(stored) && stored.state !== "discarded") throw notOpen(stored);
      const discarded = { ...stored, state: "discarded" } as const;
      await archive.update(stored.id, "discarded", listDigests(discarded));
      return discarded;
    },
    close: archive.close,
  };
}

/** Returns true if changes of a set may still be applied. */
export function isOpen({ state }: Pick<StoredSet, "state">): boolean {
  return state === "pending" || state === "partly";
}

/** Returns the error for a set of which nothing may be applied or discarded any more. */
export function notOpen({ id, state }: Pick<StoredSet, "id" | "state">): BudgieError {
  const next = state === "replaced" ? " A later turn of its session has a newer one: look at that." : "";
  return new BudgieError("INPUT_INVALID", `The change set "${id.slice(0, 8)}" is ${state}.${next}`);
}

function toStored({ content, ...record }: ChangeRecord): StoredSet {
  const outcome = record.outcome as ApplyOutcome | undefined;
  // Applied changes of one that waits again are gone from there, while the record still has the digest of that outcome.
  const isPast = record.state === "pending" && outcome?.applied.length !== 0;
  return { ...record, set: content as ChangeSet, outcome: isPast ? undefined : outcome };
}

/** Returns a base with what was applied of sets, the newest first, since it was read. */
function advanceBy(sets: readonly StoredSet[], base: Manifest, startedMs = 0): Manifest {
  return sets
    .filter(({ outcome, set }) => (outcome?.writtenMs ?? set.createdMs) >= startedMs)
    .map(listApplied)
    .reduceRight((at, applied) => (applied.length === 0 ? at : advanceBase(at, applied)), base);
}

/** Lists the changes of a set that were applied, and not undone. */
function listApplied({ outcome, set, state }: StoredSet): readonly Change[] {
  const paths = new Set(state === "undone" ? [] : outcome?.applied.map(({ path }) => path));
  return set.changes.filter(({ path }) => paths.has(path));
}

type SetSize = Awaited<ReturnType<ChangeArchive["sizes"]>>[number];

/** Finds the sets that are too old, and the oldest of those that take too much room. */
function findExpired(all: readonly SetSize[], { maxAgeMs, maxBytes }: KeepChanges): readonly SetSize[] {
  let sum = 0;
  return all.filter(({ bytes, createdMs }, index) => {
    if (Date.now() - createdMs > maxAgeMs) return true;
    sum += bytes;
    // The newest stays, however large it is.
    return sum > maxBytes && index > 0;
  });
}
