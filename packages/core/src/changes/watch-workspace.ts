import { findChangedPaths } from "./find-changed-paths.ts";
import { noteTime } from "./files/note-time.ts";
import { formatPath } from "../walk/format-path.ts";
import type { WalkBounds } from "../walk/walk-workspace.ts";

/** The changes of a workspace. */
export type WorkspaceChanges = {
  /** The first changed paths: relative and printable; a folder in which something was created or removed ends with `/` */
  readonly paths: readonly string[];
  readonly count: number;
  /** The reason why there may be other changes; `undefined` if there are none */
  readonly unknown: string | undefined;
};

export type WorkspaceWatch = {
  /** Resolves when the agent's processes may run: the file system's clock is coarse */
  readonly ready: Promise<unknown>;
  /** Finds the changes since then; called once no process of the agent is running */
  readonly findChanges: () => Promise<WorkspaceChanges>;
};

/** The changes of a workspace that could not be written to. */
export const UNCHANGED: WorkspaceChanges = { paths: [], count: 0, unknown: undefined };

const BOUNDS: WalkBounds = { entries: 200_000, timeMs: 5000 };
// Keeps the result short, since a model reads it.
const MOST_PATHS = 200;

/** Notes the current time. Does not read the workspace until `findChanges` is called. */
export function watchWorkspace(directory: string, bounds = BOUNDS): WorkspaceWatch {
  const { ready, toSinceMs } = noteTime();
  return {
    ready,
    async findChanges() {
      const sinceMs = toSinceMs();
      if (sinceMs === undefined) return { ...UNCHANGED, unknown: "the clock of this machine was set back meanwhile" };
      const { paths, unread } = await findChangedPaths(directory, sinceMs, bounds);
      return {
        paths: paths.slice(0, MOST_PATHS).map(formatPath),
        count: paths.length,
        unknown: unread && `of ${JSON.stringify(formatPath(unread.path))}, ${unread.why}`,
      };
    },
  };
}
