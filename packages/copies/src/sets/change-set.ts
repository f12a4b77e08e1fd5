import { createHash } from "node:crypto";
import type { Guard } from "@budgie/core/guard";

/** One side of a change: an entry as it was in the base, or as it is in the copy. */
export type Side =
  | { readonly kind: "folder" }
  | { readonly kind: "link"; readonly target: string }
  | {
      readonly kind: "file";
      readonly executable: boolean;
      readonly size: number;
      /** SHA-256 in hex; left out if the content is too large to be read */
      readonly digest?: string;
      /** True if the content is an object of the store */
      readonly kept: boolean;
    };

/** A difference between the base and the copy. */
export type Change = {
  readonly path: string;
  /** Left out for an added entry */
  readonly before?: Side;
  /** Left out for a removed entry */
  readonly after?: Side;
  /** The care that it takes; changes of git's own folders are none of a set */
  readonly guard?: Exclude<Guard, "never" | "scripts">;
  /** The reason why it cannot be applied */
  readonly refused?: string;
  /** Remarks for its reader, such as a setuid bit that is not applied */
  readonly notes?: readonly string[];
};

/** A file of the directory, and the one made of it and an agent's, in place of a change's own sides. */
export type MergedSides = { readonly before: Side; readonly after: Side };

/** The frozen differences between a base and a copy. */
export type ChangeSet = {
  /** The change id: the digest of all below but the time */
  readonly id: string;
  readonly sessionId: string;
  readonly agent: string;
  readonly directory: string;
  /** Device and inode of the directory */
  readonly root: string;
  readonly createdMs: number;
  /** Sorted by the bytes of their paths */
  readonly changes: readonly Change[];
  /** The number of changed paths in git's own folders, which are never applied */
  readonly gitPaths: number;
  /** The number of further changes, beyond the most of a set, which are not applied either */
  readonly omitted: number;
};

/** The paths that an apply wrote, and those that it did not. */
export type ApplyOutcome = {
  readonly applied: readonly AppliedPath[];
  readonly conflicts: readonly Unapplied[];
  /** Guarded paths, which only a person applies */
  readonly heldBack: readonly string[];
  /** Changes that cannot be applied at all */
  readonly refused: readonly Unapplied[];
  /** The time after all was written; left out before that, and by older budgies */
  readonly writtenMs?: number;
};

export type AppliedPath = {
  readonly path: string;
  /** The permission bits that the entry had before; left out for a new one */
  readonly mode?: number;
  /** True if the directory had the change already, so that undo leaves it */
  readonly already?: true;
  /** The versions that were merged; left out if the set's own was written */
  readonly merged?: MergedSides;
};

export type Unapplied = { readonly path: string; readonly why: string };

/** Returns the change id of a set. Two sets with the same id have the same changes of the same session. */
export function createChangeId(set: Omit<ChangeSet, "createdMs" | "id">): string {
  const { agent, changes, directory, gitPaths, omitted, root, sessionId } = set;
  const canonical = [1, sessionId, agent, directory, root, gitPaths, omitted, changes.map(toCanonical)];
  return createHash("sha256").update(JSON.stringify(canonical)).digest("hex");
}

function toCanonical({ after, before, guard, notes, path, refused }: Change): unknown {
  return [path, toSide(before), toSide(after), guard ?? null, refused ?? null, notes ?? null];
}

function toSide(side: Side | undefined): unknown {
  if (side === undefined || side.kind === "folder") return side?.kind ?? null;
  if (side.kind === "link") return ["link", side.target];
  return ["file", side.executable, side.size, side.digest ?? null, side.kept];
}
