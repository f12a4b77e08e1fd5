import type { CopyBase } from "@budgie/core/copies";

/** A base, as it counts. */
export type CountedBase = Pick<CopyBase, "directory"> & {
  /** The sessions whose copies lie over it */
  readonly sessions: ReadonlySet<string>;
};

const MOST_OF_DIRECTORY = 3;
const MOST = 12;

/** Chooses the bases that have to go, given all of them with the oldest first: beyond three of a directory or twelve of all, those without a session. */
export function chooseOldBases<Base extends CountedBase>(bases: readonly Base[]): readonly Base[] {
  const old = new Set<Base>();
  for (const base of bases) {
    const left = bases.filter((one) => !old.has(one));
    const ofDirectory = left.filter(({ directory }) => directory === base.directory);
    const isTooMany = left.length > MOST || ofDirectory.length > MOST_OF_DIRECTORY;
    if (isTooMany && base.sessions.size === 0) old.add(base);
  }
  return [...old];
}
