import { toCountText } from "../to-count-text.ts";
import { sanitizeText } from "../sanitize-text.ts";
import { compareSnapshots } from "./compare-snapshots.ts";
import { takeSnapshot, type Snapshot } from "./snapshot.ts";

/** What a turn did to the things of its workspace that the host runs. */
type ExecutableChanges = {
  readonly changedExecutablePaths: readonly string[];
  /** One sentence each */
  readonly warnings: readonly string[];
};

export type ExecutableWatch = {
  /** Resolves once the workspace was looked at; the agent must not run before */
  readonly ready: Promise<unknown>;
  /** What has changed since */
  readonly toChanges: () => Promise<ExecutableChanges>;
};

// A result is read by a model.
const MOST_PATHS = 200;

/** Begins to look at a workspace. */
export function watchExecutablePaths(directory: string): ExecutableWatch {
  const taking = takeSnapshot(directory);
  return {
    ready: taking,
    async toChanges() {
      const before = await taking;
      const after = await takeSnapshot(directory);
      const paths = compareSnapshots(before, after);
      return {
        changedExecutablePaths: paths.slice(0, MOST_PATHS).map(toLine),
        warnings: [...toUnreadWarning(before, after), ...toManyWarning(paths.length)],
      };
    },
  };
}

function toUnreadWarning(before: Snapshot, after: Snapshot): readonly string[] {
  const [first] = [...after.unread, ...before.unread];
  if (first === undefined) return [];
  return [
    `Not all of the workspace was looked at for changed files that your machine runs, since it is too large or may not be ` +
      `read ("${toLine(first) || "."}" was not): "changedExecutablePaths" may be incomplete.`,
  ];
}

function toManyWarning(count: number): readonly string[] {
  if (count <= MOST_PATHS) return [];
  return [
    `The turn changed ${toCountText(count)} files that your machine runs; "changedExecutablePaths" has the first.`,
  ];
}

/** A file's name is the agent's choice, and is read by a model. */
function toLine(path: string): string {
  return sanitizeText(path).replace(/\s+/g, " ");
}
