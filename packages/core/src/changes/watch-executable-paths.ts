import { noteTime, type NotedTime } from "./file-times.ts";
import { toCountText } from "../text/text.ts";
import type { OpenFolder } from "../walk/open-folder.ts";
import { toPrintablePath } from "../walk/printable-path.ts";
import { type Change, compareSnapshots, type Snapshot, takeSnapshot } from "./snapshot.ts";
import { GIT_EFFECTS, toEffectText } from "./effect.ts";
import { createSuspects, type Listed, type Outward, type Privileged } from "./suspects.ts";

/** A turn's changes to files that the host may run or follow. */
export type ExecutableChanges = {
  /** The most dangerous first */
  readonly changedExecutablePaths: readonly string[];
  /** One sentence for each of the first changes that make git run something */
  readonly gitChanges: readonly string[];
  /** One sentence each */
  readonly warnings: readonly string[];
  /** The workspace's present state, for a later watch to compare with; left out if the workspace is not watched */
  readonly state?: ExecutableState | undefined;
};

/** The state of a workspace at the end of a watch. */
export type ExecutableState = { readonly snapshot: Snapshot; readonly time: NotedTime };

export type ExecutableWatch = {
  /** Resolves when the first snapshot was taken; the agent must not run before */
  readonly ready: Promise<unknown>;
  /** Finds the changes since the first snapshot */
  readonly findChanges: () => Promise<ExecutableChanges>;
};

// Keeps the result short, since a model reads it.
const MOST_PATHS = 200;
const MOST_EXPLAINED = 10;

/** Begins to watch a workspace. Given the state at the end of the last watch, it also finds the changes since then. `open` is for tests. */
export function watchExecutablePaths(directory: string, open?: OpenFolder, last?: ExecutableState): ExecutableWatch {
  const time = last?.time ?? noteTime();
  const taking = takeSnapshot(directory, { open, gitPaths: last?.snapshot.gitPaths });
  return {
    ready: Promise.all([taking, time.ready]),
    async findChanges() {
      const before = await taking;
      const suspects = createSuspects(directory, time.toSinceMs());
      const endTime = noteTime();
      const after = await takeSnapshot(directory, { gitPaths: before.gitPaths, suspects, open });
      const earlier = last === undefined ? [] : compareSnapshots(last.snapshot, before);
      const changes = joinChanges(compareSnapshots(before, after), earlier);
      const { outward, privileged } = suspects;
      const paths = new Set([...privileged.first, ...changes].map(({ path }) => path));
      return {
        changedExecutablePaths: [...paths].slice(0, MOST_PATHS).map(toPrintablePath),
        gitChanges: changes
          .filter(({ effect }) => GIT_EFFECTS.includes(effect))
          .slice(0, MOST_EXPLAINED)
          .map(toSentence),
        warnings: [
          ...toPrivilegedWarnings(privileged),
          ...toEarlierWarning(earlier),
          ...changes
            .filter(({ effect }) => toEffectText(effect) !== undefined)
            .slice(0, MOST_EXPLAINED)
            .map(toSentence),
          ...toOutwardWarning(outward),
          ...toUnreadWarning(before, after),
          ...toManyWarning(changes.length + privileged.count),
        ],
        state: { snapshot: after, time: endTime },
      };
    },
  };
}

function joinChanges(changes: readonly Change[], earlier: readonly Change[]): readonly Change[] {
  const paths = new Set(changes.map(({ path }) => path));
  return [...changes, ...earlier.filter(({ path }) => !paths.has(path))];
}

function toEarlierWarning(earlier: readonly Change[]): readonly string[] {
  if (earlier.length === 0) return [];
  const named = earlier.slice(0, MOST_EXPLAINED).map(({ path }) => toQuoted(path));
  const more = earlier.length > named.length ? ` and ${toCountText(earlier.length - named.length)} more` : "";
  return [
    `${named.join(", ")}${more} changed before this turn and after the session's last one, while the agent's process waited. ` +
      `The agent may have done it, if you have not.`,
  ];
}

function toSentence({ effect, path }: Change): string {
  const text = toEffectText(effect);
  return `${toQuoted(path)} was changed${text === undefined ? "" : `: ${text}`}.`;
}

/** Quotes a path with escapes: an agent chose it, and could close the quotation. */
function toQuoted(path: string): string {
  return JSON.stringify(toPrintablePath(path));
}

function toPrivilegedWarnings({ first }: Listed<Privileged>): readonly string[] {
  return first
    .slice(0, MOST_EXPLAINED)
    .map(
      ({ bit, id, path }) =>
        `${toQuoted(path)} is a ${bit} file: it runs with the rights of ${bit === "setuid" ? "user" : "group"} ${id}.`,
    );
}

function toOutwardWarning({ count, first }: Listed<Outward>): readonly string[] {
  if (count === 0) return [];
  const named = first.slice(0, MOST_EXPLAINED).map(({ path, target }) => `${toQuoted(path)} to ${toQuoted(target)}`);
  const more = count > named.length ? ` and ${toCountText(count - named.length)} more` : "";
  return [`New links lead out of the workspace: ${named.join(", ")}${more}.`];
}

function toUnreadWarning(before: Snapshot, after: Snapshot): readonly string[] {
  const [first] = [...after.unread, ...before.unread];
  if (first === undefined) return [];
  const [path, why] = first;
  return [
    `Not all of the workspace was checked for changed files that your machine runs (${toQuoted(path)}: ${why}). ` +
      `"changedExecutablePaths" may be incomplete.`,
  ];
}

function toManyWarning(count: number): readonly string[] {
  if (count <= MOST_PATHS) return [];
  return [
    `The turn changed ${toCountText(count)} files that your machine runs; "changedExecutablePaths" has the first.`,
  ];
}
