import { watch, type FSWatcher } from "node:fs";
import { basename } from "node:path";
import { toPathKey } from "../../walk/folder-path.ts";
import type { VisitedFolder } from "../../walk/walk-workspace.ts";

/** A watch for the names in a few folders, which also sees files that are gone before anybody looks. */
export type NameWatch = {
  readonly add: (folder: VisitedFolder) => void;
  /** Ends it, and returns the paths of the names that were written, removed or changed, as `toPathKey` writes them */
  readonly stop: () => ReadonlySet<string>;
};

// An agent may have made any number of such folders, and writes any number of names.
const MOST_FOLDERS = 32;
const MOST_NAMES = 100;

/** Creates a watch of no folder. It sees nothing where the system tells nothing, such as from a virtual machine's other side. */
export function createNameWatch(): NameWatch {
  const watchers = new Set<FSWatcher>();
  const seen = new Set<string>();
  return {
    add({ at, path }) {
      if (watchers.size >= MOST_FOLDERS) return;
      try {
        // By the open folder: its path may lead elsewhere by now.
        const watcher = watch(at as unknown as string, { persistent: false, encoding: "buffer" });
        watchers.add(watcher);
        watcher.on("error", () => watcher.close());
        const own = basename(String(at));
        watcher.on("change", (_event, name) => {
          // A change of the folder itself comes by its own name.
          if (!Buffer.isBuffer(name) || name.toString() === own) return;
          if (seen.size < MOST_NAMES) seen.add(toPathKey(path, name));
        });
      } catch {
        // The system has no watch left; what is there at the end is seen nevertheless.
      }
    },
    stop() {
      for (const watcher of watchers) watcher.close();
      return seen;
    },
  };
}
