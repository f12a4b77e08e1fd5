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

function formatChanges({ added, changeId, changed, guarded, notApplicable, removed }: CopyChanges): string {
  const counts = [`${added} added`, `${changed} changed`, `${removed} removed`].filter(
    (count) => !count.startsWith("0"),
  );
  const held = guarded.length === 0 ? "" : ` Only the user applies ${formatNames(guarded)}.`;
  const not = notApplicable.length === 0 ? "" : ` These cannot be applied: ${formatNames(notApplicable)}.`;
  return `Its changes wait as changeId "${changeId}": ${counts.join(", ") || "none that can be applied"}.${held}${not}`;
}

/** Returns names that an agent chose, in quotes if one could be taken for more than a name. */
export function formatNames(names: readonly string[]): string {
  return names.map((name) => (/^[\w./@+-]+$/.test(name) ? name : JSON.stringify(name))).join(", ");
}
