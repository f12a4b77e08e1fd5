import type { ChangedFiles } from "../changed-files.ts";
import { buildChangedFiles } from "./build-changed-files.ts";
import { createFileSearch } from "./files/file-search.ts";
import { createNameWatch } from "./files/name-watch.ts";
import { createNamesBefore } from "./files/names-before.ts";
import { noteTime, type NotedTime } from "./files/note-time.ts";
import { formatCount } from "../text/truncate-text.ts";
import type { OpenFolder } from "../walk/open-folder.ts";
import { formatPath } from "../walk/format-path.ts";
import {
  type Change,
  compareSnapshots,
  createIsDoubtful,
  listPassing,
  type Snapshot,
  takeSnapshot,
} from "./snapshot.ts";
import { GIT_EFFECTS, explainEffect } from "./effect.ts";
import { createRiskyEntries, type Listed, type Outward, type Privileged } from "./risky-entries.ts";

/** A turn's changes to files that the host may run or follow. */
type ExecutableChanges = {
  /** The most dangerous first */
  readonly changedExecutablePaths: readonly string[];
  /** One sentence for each of the first changes that make git run something */
  readonly gitChanges: readonly string[];
  /** One sentence each */
  readonly warnings: readonly string[];
  /** The workspace's present state, for a later watch to compare with; left out if the workspace is not watched */
  readonly state?: ExecutableState | undefined;
  /** All changed files, the executable ones at the top; left out if the workspace is not watched */
  readonly files?: ChangedFiles | undefined;
};

/** The state of a workspace at the end of a watch. */
export type ExecutableState = { readonly snapshot: Snapshot; readonly time: NotedTime };

export type ExecutableWatch = {
  /** Resolves when the first snapshot was taken; the agent must not run before */
  readonly ready: Promise<unknown>;
  /** Finds the changes since the first snapshot */
  readonly findChanges: () => Promise<ExecutableChanges>;
};

/** The most paths in a result, which a model reads */
export const MOST_PATHS = 200;
const MOST_EXPLAINED = 10;

/** Begins to watch a directory for executable paths that a turn changes. */
export type WatchDirectory = (directory: string, open?: undefined, last?: ExecutableState) => ExecutableWatch;

/** Begins to watch a workspace. Given the state at the end of the last watch, it also finds the changes since then. `open` is for tests. */
export function watchExecutablePaths(directory: string, open?: OpenFolder, last?: ExecutableState): ExecutableWatch {
  const time = last?.time ?? noteTime();
  const [names, nameWatch] = [createNamesBefore(), createNameWatch()];
  const taking = takeSnapshot(directory, { open, gitPaths: last?.snapshot.gitPaths, names, nameWatch });
  return {
    ready: Promise.all([taking, time.ready]),
    async findChanges() {
      const before = await taking;
      const suspects = createRiskyEntries(directory, time.toSinceMs());
      const endTime = noteTime();
      const outside = before.gitPaths.outside.at(-1);
      const outsideSuspects = outside === undefined ? undefined : createRiskyEntries(outside, time.toSinceMs());
      names.forget(before.unread.keys());
      const files = createFileSearch(names);
      const { gitPaths } = before;
      const after = await takeSnapshot(directory, { gitPaths, suspects, outsideSuspects, files, open });
      const earlier = last === undefined ? [] : compareSnapshots(last.snapshot, before);
      const changes = joinChanges(compareSnapshots(before, after), earlier);
      const outward = joinListed(suspects.outward, outsideSuspects?.outward, outside);
      const privileged = joinListed(suspects.privileged, outsideSuspects?.privileged, outside);
      const paths = new Set([...privileged.first, ...changes].map(({ path }) => path));
      return {
        changedExecutablePaths: [...paths].slice(0, MOST_PATHS).map(formatPath),
        gitChanges: changes
          .filter(({ effect }) => GIT_EFFECTS.includes(effect))
          .slice(0, MOST_EXPLAINED)
          .map(formatChange),
        warnings: [
          ...warnOfPrivileged(privileged),
          ...warnOfEarlier(earlier),
          ...changes
            .filter(({ effect }) => explainEffect(effect) !== undefined)
            .slice(0, MOST_EXPLAINED)
            .map(formatChange),
          ...warnOfOutward(outward),
          ...warnOfUnread(before, after),
          ...warnOfMany(changes.length + privileged.count),
        ],
        state: { snapshot: after, time: endTime },
        files: buildChangedFiles(files.finish(createIsDoubtful(after)), {
          flagged: [
            ...changes,
            ...listPassing(before, after, nameWatch.stop()),
            ...[...privileged.first, ...outward.first].map(({ path }) => ({ path })),
          ],
          unread: after.unread,
        }),
      };
    },
  };
}

/** Joins what was found in the workspace and in a folder outside, whose paths become absolute. */
function joinListed<Item extends { readonly path: string }>(
  inside: Listed<Item>,
  beyond: Listed<Item> | undefined,
  folder = "",
): Listed<Item> {
  if (beyond === undefined) return inside;
  const start = Buffer.from(folder).toString("latin1");
  const first = beyond.first.map((item) => ({ ...item, path: `${start}/${item.path}` }));
  return { first: [...inside.first, ...first], count: inside.count + beyond.count };
}

function joinChanges(changes: readonly Change[], earlier: readonly Change[]): readonly Change[] {
  const paths = new Set(changes.map(({ path }) => path));
  return [...changes, ...earlier.filter(({ path }) => !paths.has(path))];
}

function warnOfEarlier(earlier: readonly Change[]): readonly string[] {
  if (earlier.length === 0) return [];
  const named = earlier.slice(0, MOST_EXPLAINED).map(({ path }) => quotePath(path));
  const more = earlier.length > named.length ? ` and ${formatCount(earlier.length - named.length)} more` : "";
  return [
    `${named.join(", ")}${more} changed before this turn and after the session's last one, while the agent's process waited. ` +
      `The agent may have done it, if you have not.`,
  ];
}

function formatChange({ effect, path }: Change): string {
  const text = explainEffect(effect);
  return `${quotePath(path)} was changed${text === undefined ? "" : `: ${text}`}.`;
}

/** Quotes a path with escapes: an agent chose it, and could close the quotation. */
function quotePath(path: string): string {
  return JSON.stringify(formatPath(path));
}

function warnOfPrivileged({ first }: Listed<Privileged>): readonly string[] {
  return first
    .slice(0, MOST_EXPLAINED)
    .map(
      ({ bit, id, path }) =>
        `${quotePath(path)} is a ${bit} file: it runs with the rights of ${bit === "setuid" ? "user" : "group"} ${id}.`,
    );
}

function warnOfOutward({ count, first }: Listed<Outward>): readonly string[] {
  if (count === 0) return [];
  const named = first.slice(0, MOST_EXPLAINED).map(({ path, target }) => `${quotePath(path)} to ${quotePath(target)}`);
  const more = count > named.length ? ` and ${formatCount(count - named.length)} more` : "";
  return [`New links lead out of the workspace: ${named.join(", ")}${more}.`];
}

function warnOfUnread(before: Snapshot, after: Snapshot): readonly string[] {
  const [first] = [...after.unread, ...before.unread];
  if (first === undefined) return [];
  const [path, why] = first;
  return [
    `Not all of the workspace was checked for changed files that your machine runs (${quotePath(path)}: ${why}). ` +
      `"changedExecutablePaths" may be incomplete.`,
  ];
}

function warnOfMany(count: number): readonly string[] {
  if (count <= MOST_PATHS) return [];
  return [
    `The turn changed ${formatCount(count)} files that your machine runs; "changedExecutablePaths" has the first.`,
  ];
}
