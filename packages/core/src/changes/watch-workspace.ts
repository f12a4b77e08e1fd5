import { findChangedPaths } from "./find-changed-paths.ts";
import { noteTime } from "./file-times.ts";
import { toPrintablePath } from "../walk/printable-path.ts";
import type { WalkBounds } from "../walk/walk-workspace.ts";

/** What became of a workspace. */
export type WorkspaceChanges = {
  /** The first of what changed: relative, fit to be shown; a folder, in which something was made or removed, ends with `/` */
  readonly paths: readonly string[];
  readonly count: number;
  /** Why it cannot be told whether that is all; `undefined` if it can */
  readonly unknown: string | undefined;
};

export type WorkspaceWatch = {
  /** No process of the agent may run before this: the file system's clock is coarse */
  readonly ready: Promise<unknown>;
  /** What has changed since; asked once nothing of the agent runs */
  readonly toChanges: () => Promise<WorkspaceChanges>;
};

/** That of a workspace which nobody could write to. */
export const UNCHANGED: WorkspaceChanges = { paths: [], count: 0, unknown: undefined };

const BOUNDS: WalkBounds = { entries: 200_000, timeMs: 5000 };
// A result is read by a model.
const MOST_PATHS = 200;

/** Notes what time it is. Until it is asked for changes it does not look at the workspace. */
export function watchWorkspace(directory: string, bounds = BOUNDS): WorkspaceWatch {
  const { ready, toSinceMs } = noteTime();
  return {
    ready,
    async toChanges() {
      const sinceMs = toSinceMs();
      if (sinceMs === undefined) return { ...UNCHANGED, unknown: "the clock of this machine was set back meanwhile" };
      const { paths, unread } = await findChangedPaths(directory, sinceMs, bounds);
      return {
        paths: paths.slice(0, MOST_PATHS).map(toPrintablePath),
        count: paths.length,
        unknown: unread && `of ${JSON.stringify(toPrintablePath(unread.path))}, ${unread.why}`,
      };
    },
  };
}
