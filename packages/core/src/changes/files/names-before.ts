import { toPathKey, type FolderPath } from "../../walk/folder-path.ts";
import type { Entry } from "../../walk/walk-workspace.ts";

/** The names in a folder, with their kinds. */
export type Names = Map<string, Entry["type"]>;

/** The names in the folders of a workspace before a turn, by which a later look knows the removed and the new ones. */
export type NamesBefore = {
  readonly add: (folder: FolderPath, entries: readonly Entry[]) => void;
  /** Discards folders of which not all was read, by their paths; the empty one discards all */
  readonly forget: (paths: Iterable<string>) => void;
  /** Returns the names in a folder, and forgets them; `undefined` if they are not known */
  readonly take: (folder: string) => Names | undefined;
  /** Takes the folders that are left */
  readonly takeRest: () => Iterable<readonly [folder: string, names: Names]>;
  /** True if there were too many names to keep */
  readonly isFull: () => boolean;
};

// One text for each folder takes a few bytes for each name, where a map would take a hundred for as long as the turn lasts.
const MOST_CHARACTERS = 8 * 1024 * 1024;
const MARKS = { folder: "d", file: "f", link: "l", other: "o" } as const;
const TYPES = new Map(Object.entries(MARKS).map(([type, mark]) => [mark as string, type as Entry["type"]]));

/** Creates an empty list of names. */
export function createNamesBefore(mostCharacters = MOST_CHARACTERS): NamesBefore {
  const folders = new Map<string, string>();
  let characters = 0;
  let isFull = false;

  function take(folder: string): Names | undefined {
    const text = folders.get(folder);
    folders.delete(folder);
    return text === undefined ? undefined : toNames(text);
  }

  return {
    add(folder, entries) {
      const key = toPathKey(folder);
      const text = entries.map(({ name, type }) => `${MARKS[type]}${name.toString("latin1")}/`).join("");
      characters += key.length + text.length;
      if (characters > mostCharacters) {
        // A part of a folder's names would make the others look new.
        folders.delete(key);
        isFull = true;
      } else if (!isFull) folders.set(key, (folders.get(key) ?? "") + text);
    },
    forget(paths) {
      for (const path of paths) {
        if (path === "") folders.clear();
        folders.delete(path);
      }
    },
    take,
    *takeRest() {
      for (const folder of folders.keys()) yield [folder, take(folder) ?? new Map()];
    },
    isFull: () => isFull,
  };
}

function toNames(text: string): Names {
  const names: Names = new Map();
  for (const part of text.split("/")) {
    const type = TYPES.get(part.slice(0, 1));
    if (type !== undefined) names.set(part.slice(1), type);
  }
  return names;
}
