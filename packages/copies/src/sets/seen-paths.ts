/** The paths of a copy that were read so far. */
export type SeenPaths = {
  /** Returns why a path cannot stand at this place of a listing */
  readonly findTwist: (path: string) => string | undefined;
  readonly add: (path: string, kind: string) => void;
  readonly has: (path: string) => boolean;
  readonly isLink: (path: string) => boolean;
  /** Returns true for a folder that git takes for a repository, whatever its name */
  readonly isRepository: (folder: string) => boolean;
};

/** Creates the list of seen paths, which is empty. */
export function createSeenPaths(): SeenPaths {
  const kinds = new Map<string, string>();
  const marks = createMarks();
  // The folder of the path before, which most paths share.
  let last = "";

  function isFolder(path: string): boolean {
    if (path === last) return true;
    if (kinds.get(path) !== "folder") return false;
    last = path;
    return true;
  }

  return {
    findTwist(path) {
      if (kinds.has(path)) return "it is there twice";
      const slash = path.lastIndexOf("/");
      return slash === -1 || isFolder(path.slice(0, slash)) ? undefined : "it lies in what is no folder";
    },
    add(path, kind) {
      kinds.set(path, kind);
      marks.add(path);
    },
    has: (path) => kinds.has(path),
    isLink: (path) => kinds.get(path) === "link",
    isRepository: (folder) => marks.isRepository(folder),
  };
}

/** Creates a search for folders with the names by which git recognises a repository. */
function createMarks() {
  const found = new Map<string, Set<string>>();
  return {
    add(path: string): void {
      const slash = path.lastIndexOf("/");
      const name = path.slice(slash + 1);
      if (name !== "HEAD" && name !== "objects" && name !== "refs" && name !== "commondir") return;
      const folder = slash === -1 ? "" : path.slice(0, slash);
      const names = found.get(folder) ?? new Set();
      found.set(folder, names.add(name));
    },
    isRepository(folder: string): boolean {
      const names = found.get(folder);
      return names !== undefined && names.has("HEAD") && (names.has("commondir") || names.has("objects"));
    },
  };
}
