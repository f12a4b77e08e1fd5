/** A reason why a copy lacks something, as the rest of a sentence about it. */
export type LeftOutReason = keyof typeof REASONS;

const REASONS = {
  ignored: "git ignores it",
  untracked: "git does not track it",
  secret: "its name is one of secrets, and git does not track it",
  excluded: '"copyExclude" names it',
  nested: "it belongs to the git of a repository inside the directory",
  git: "it is a part of git's folder that copies do without",
  kind: "it is neither a file, a folder nor a symlink",
  stage: "it belongs to an apply of changes that was interrupted, or is under way",
  device: "it is on another file system",
  name: "its name is no UTF-8",
  deep: "it lies too deep",
  unreadable: "it cannot be read",
  changed: "it changed while it was copied",
} as const;

/** The entries of a directory that its copy lacks. */
export type LeftOut = {
  readonly groups: readonly {
    readonly reason: LeftOutReason;
    /** The reason as the rest of a sentence */
    readonly why: string;
    /** A folder counts once, with all that is in it */
    readonly count: number;
    /** The first paths, those of folders with a slash at their end; bytes that are no UTF-8 are replaced */
    readonly paths: readonly string[];
  }[];
  /** Sentences about what else differs from the directory */
  readonly notes: readonly string[];
};

export type LeftOutList = {
  /** Returns `undefined`, so that a search can end with it */
  readonly add: (reason: LeftOutReason, path: string) => undefined;
  readonly note: (sentence: string) => void;
  readonly list: () => LeftOut;
};

/** The most paths that are named for one reason. */
const MOST_NAMED = 20;

/** Creates an empty list of what a copy lacks, which names the first paths for each reason and counts all. */
export function createLeftOut(): LeftOutList {
  const found = new Map<LeftOutReason, { count: number; readonly paths: string[] }>();
  const notes = new Set<string>();
  return {
    add(reason, path) {
      const group = found.get(reason) ?? { count: 0, paths: [] };
      group.count++;
      if (group.paths.length < MOST_NAMED) group.paths.push(path);
      found.set(reason, group);
      return undefined;
    },
    note: (sentence) => void notes.add(sentence),
    list: () => ({
      groups: (Object.keys(REASONS) as LeftOutReason[]).flatMap((reason) => {
        const group = found.get(reason);
        return group === undefined ? [] : [{ reason, why: REASONS[reason], ...group }];
      }),
      notes: [...notes],
    }),
  };
}
