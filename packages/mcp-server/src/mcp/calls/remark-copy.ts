import type { FailureReport } from "@budgie/core";
import type { ChangesReview, CopyChanges, NamedPaths } from "@budgie/core/errors";
import { listLacks, listRefreshed } from "@budgie/core/turn";

/** Returns sentences about the copy that an agent worked on: its changes, and what it lacks. */
export function remarkCopy(copy: FailureReport["copy"]): readonly string[] {
  if (copy === undefined) return [];
  const { changes } = copy;
  const worked = "It worked on a copy: the directory itself is as it was.";
  return [
    ...(changes === undefined ? [worked] : [`${worked} ${formatChanges(changes)}`]),
    ...(changes?.review === undefined ? [] : remarkReview(changes.review)),
    ...[...listRefreshed(copy), ...listLacks(copy)].map((fact) => `The copy: ${fact}`),
  ];
}

function formatChanges({
  added,
  changeId,
  changed,
  commits = [],
  guarded,
  notApplicable,
  removed,
}: CopyChanges): string {
  const counts = [`${added} added`, `${changed} changed`, `${removed} removed`].filter(
    (count) => !count.startsWith("0"),
  );
  const sentences = [
    `Its changes wait as changeId "${changeId}": ${counts.join(", ") || "none that can be applied"}.`,
    ...(guarded.length === 0 ? [] : [`Only the user applies ${formatNames(guarded)}.`]),
    ...(notApplicable.length === 0 ? [] : [`These cannot be applied: ${formatNames(notApplicable)}.`]),
    ...(commits.length === 0
      ? []
      : [
          `Its copy has new commits on ${formatNames(commits)}: "budgie changes bundle ${changeId.slice(0, 8)}" brings them to the user.`,
        ]),
  ];
  return sentences.join(" ");
}

/** Returns sentences about what to know before changes are applied to a directory. */
export function remarkReview({ conflicts, drift, overlaps, problem }: ChangesReview): readonly string[] {
  const unsure = drift.isWhole ? "" : "at least ";
  return [
    ...(problem === undefined ? [] : [problem]),
    ...(conflicts.count === 0 ? [] : [`In conflict with the directory as it is now: ${formatPaths(conflicts)}.`]),
    ...(drift.count === 0
      ? []
      : [`In the directory ${unsure}${drift.count} of the copied paths changed since: ${formatPaths(drift)}.`]),
    ...overlaps.map(
      ({ changeId, count }) =>
        `The change set ${changeId.slice(0, 8)}, which waits too, changes ${count} of the same paths.`,
    ),
  ];
}

function formatPaths({ count, paths }: NamedPaths): string {
  const more = count > paths.length ? `, and ${count - paths.length} more` : "";
  return `${formatNames(paths)}${more}`;
}

/** Returns names that an agent chose, in quotes if one could be taken for more than a name. */
export function formatNames(names: readonly string[]): string {
  return names.map((name) => (/^[\w./@+-]+$/.test(name) ? name : JSON.stringify(name))).join(", ");
}
