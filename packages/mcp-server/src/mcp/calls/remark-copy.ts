import type { FailureReport } from "@budgie/core";
import type { CopyChanges } from "@budgie/core/errors";
import { listLacks } from "@budgie/core/turn";

/** Returns sentences about the copy that an agent worked on: its changes, and what it lacks. */
export function remarkCopy(copy: FailureReport["copy"]): readonly string[] {
  if (copy === undefined) return [];
  const { changes } = copy;
  const worked = "It worked on a copy: the directory itself is as it was.";
  return [
    ...(changes === undefined ? [worked] : [`${worked} ${formatChanges(changes)}`]),
    ...listLacks(copy).map((lack) => `The copy: ${lack}`),
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

/** Returns names that an agent chose, in quotes if one could be taken for more than a name. */
export function formatNames(names: readonly string[]): string {
  return names.map((name) => (/^[\w./@+-]+$/.test(name) ? name : JSON.stringify(name))).join(", ");
}
