/**
 * Entries of the workspace, or with `~/` folders of the session's home, that a sandbox replaces. Without a sandbox the workspace stays as
 * it is, and `start` rejects with `SESSION_UNUSABLE` if such a folder is in the home.
 */
export type HiddenPaths = { readonly [name: string]: Cover; readonly [folder: InHome]: "empty folder" };

/** A path in a session's home, such as `~/.kiro/agents`. */
type InHome = `~/${string}`;

/** The replacement of a file or folder: an empty folder, a file with this content, or a folder of which only some entries are replaced. */
export type Cover = CoverEntry | { readonly entries: Readonly<Record<string, CoverEntry>> };

export type CoverEntry = "empty folder" | { readonly content: string };

/** The paths that a command hides, by their place. */
export type Hidden = {
  readonly ofWorkspace: Readonly<Record<string, Cover>>;
  /** Folders below the home, such as `.kiro/agents` */
  readonly ofHome: readonly string[];
};

/** Separates the paths that a command hides in its workspace from those in its home. */
export function toHidden({ hidden = {} }: { readonly hidden?: HiddenPaths | undefined }): Hidden {
  return {
    ofWorkspace: Object.fromEntries(Object.entries(hidden).filter(([path]) => !isInHome(path))),
    ofHome: Object.keys(hidden)
      .filter(isInHome)
      .map((path) => path.slice(2)),
  };
}

function isInHome(path: string): path is InHome {
  return path.startsWith("~/");
}
