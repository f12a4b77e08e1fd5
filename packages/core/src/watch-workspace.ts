import { setTimeout as sleep } from "node:timers/promises";
import { cutText } from "./cut-text.ts";
import { findChangedPaths, type WalkBounds } from "./find-changed-paths.ts";
import { sanitizeText } from "./sanitize-text.ts";

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
const LONGEST_PATH_BYTES = 300;
// Linux notes times by the last tick of its clock, which is 10 ms ago at the most.
const TICK_MS = 10;
const MOST_SET_BACK_MS = 1000;

/** Notes what time it is. Until it is asked for changes it does not look at the workspace. */
export function watchWorkspace(directory: string, bounds = BOUNDS): WorkspaceWatch {
  const beganMs = performance.now();
  // The end of this millisecond: what a caller has just written is from before.
  const sinceMs = Date.now() + 1;
  return {
    ready: sleep(2 * TICK_MS),
    async toChanges() {
      // In this order, since a pause in between must look as if the clock had been set back rather than hide that it was.
      const nowMs = Date.now() + 1;
      const setBackMs = Math.max(performance.now() - beganMs - (nowMs - sinceMs), 0);
      if (setBackMs > MOST_SET_BACK_MS) {
        return { ...UNCHANGED, unknown: "the clock of this machine was set back meanwhile" };
      }
      const { paths, unread } = await findChangedPaths(directory, sinceMs - setBackMs, bounds);
      return {
        paths: paths.slice(0, MOST_PATHS).map(toShown),
        count: paths.length,
        unknown: unread && `of ${JSON.stringify(toShown(unread.path))}, ${unread.why}`,
      };
    },
  };
}

/** A file's name is the agent's choice, and is read by a model. */
function toShown(path: Buffer): string {
  const text = sanitizeText(path.toString("utf8")).replace(/\s+/g, " ");
  if (text === "" || text === "/") return "./";
  const shown = cutText(text, LONGEST_PATH_BYTES);
  return shown === text ? text : `${shown}...`;
}
