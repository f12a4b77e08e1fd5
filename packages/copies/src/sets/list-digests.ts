import type { ChangeRecord } from "@budgie/store";
import type { ApplyOutcome, ChangeSet, Side } from "./change-set.ts";

/** A set as far as it says what it needs. */
type Needing = Pick<ChangeRecord, "state"> & { readonly set: ChangeSet; readonly outcome: ApplyOutcome | undefined };

/** Lists the objects that a set needs: to be shown and applied, and to be undone. */
export function listDigests({ outcome, set, state }: Needing): readonly string[] {
  const applied = new Set(outcome?.applied.map(({ path }) => path));
  // The applied part of a discarded set can still be undone.
  const changes = state === "discarded" ? set.changes.filter(({ path }) => applied.has(path)) : set.changes;
  const merged = (outcome?.applied ?? []).flatMap((each) => (each.merged === undefined ? [] : [each.merged]));
  return [
    ...merged.flatMap(({ after, before }) => [...toDigests(after, true), ...toDigests(before, true)]),
    ...changes.flatMap(({ after, before, path }) => [
      ...toDigests(after, false),
      ...toDigests(before, applied.has(path)),
    ]),
  ];
}

function toDigests(side: Side | undefined, isMoved: boolean): readonly string[] {
  return side?.kind === "file" && (side.kept || isMoved) && side.digest !== undefined ? [side.digest] : [];
}
