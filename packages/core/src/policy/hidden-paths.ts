/**
 * Entries of the workspace, or with `~/` folders of the session's home, that a sandbox replaces. Without a sandbox the workspace stays as
 * it is, and `start` rejects with `SESSION_UNUSABLE` if such a folder is in the home.
 */
export type HiddenPaths = { readonly [name: string]: Cover; readonly [folder: InHome]: FolderCover };

/** A path in a session's home, such as `~/.kiro/agents`. */
type InHome = `~/${string}`;

/** The replacement of a file or folder: a folder, a file with this content, or a folder of which only some entries are replaced. */
export type Cover =
  | CoverEntry
  | {
      readonly entries: Readonly<Record<string, CoverEntry>>;
      /** True if a file of this name is harmless, and stays */
      readonly mayBeFile?: boolean;
    };

export type CoverEntry = FolderCover | { readonly content: string };

/** A folder with nothing in it, or with these files alone, by name and content. */
type FolderCover = "empty folder" | { readonly files: Readonly<Record<string, string>> };

/** The paths that a command hides, by their place. */
export type Hidden = {
  readonly ofWorkspace: Readonly<Record<string, Cover>>;
  /** By the path below the home, such as `.kiro/agents` */
  readonly ofHome: Readonly<Record<string, FolderCover>>;
};

/** Separates the paths that a command hides in its workspace from those in its home. */
export function splitHidden({ hidden = {} }: { readonly hidden?: HiddenPaths | undefined }): Hidden {
  const ofHome = Object.keys(hidden)
    .filter(isInHome)
    .map((path) => [path.slice(2), hidden[path] ?? "empty folder"] as const);
  return {
    ofWorkspace: Object.fromEntries(Object.entries(hidden).filter(([path]) => !isInHome(path))),
    ofHome: Object.fromEntries(ofHome),
  };
}

function isInHome(path: string): path is InHome {
  return path.startsWith("~/");
}
