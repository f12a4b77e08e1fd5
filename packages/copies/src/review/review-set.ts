import { BudgieError } from "@budgie/core";
import type { ChangesReview, NamedPaths } from "@budgie/core/errors";
import { listChanges, withDirectory } from "../apply/apply-changes.ts";
import { planApply } from "../apply/plan-apply.ts";
import type { Base } from "../copying/base-files.ts";
import { escapeUnseen } from "../diffs/escape-bytes.ts";
import { MOST_NAMED, namePaths } from "../diffs/name-paths.ts";
import type { ChangeSets, StoredSet } from "../sets/change-sets.ts";
import { compareNow, type EarlyDrift } from "./begin-drift.ts";
import { findOverlaps } from "./find-overlaps.ts";

export type ReviewOptions = {
  readonly sets: ChangeSets;
  /** The directory as it was copied; without it only the set's own paths are compared */
  readonly base?: Pick<Base, "manifest" | "startedMs"> | undefined;
  /** The sets that may be named; default all */
  readonly others?: readonly StoredSet[] | undefined;
  /** A comparison with the base that has begun; default: it begins now */
  readonly early?: Pick<EarlyDrift, "finish"> | undefined;
};

/** Compares a set that waits with its directory as it is now. Writes nothing. */
export async function reviewSet(
  stored: StoredSet,
  { base, early, others, sets }: ReviewOptions,
): Promise<ChangesReview> {
  const overlaps = findOverlaps(stored, others ?? (await sets.listOpen(stored.root))).slice(0, MOST_NAMED);
  try {
    return await withDirectory(stored, sets, async (host) => {
      const { conflicts } = await planApply(host, listChanges(stored), { withGuarded: true });
      const own = conflicts.map(({ path }) => path);
      if (base === undefined)
        return { conflicts: namePaths(own), drift: { ...namePaths(own), isWhole: false }, overlaps };
      const found = await early?.finish();
      const { isWhole, paths } =
        found?.root === stored.root ? found : await compareNow(host, { base, sessionId: stored.sessionId, sets });
      return { conflicts: namePaths(own), drift: { ...namePaths(paths), isWhole }, overlaps };
    });
  } catch (error) {
    if (!(error instanceof BudgieError)) throw error;
    return { conflicts: NONE, drift: { ...NONE, isWhole: false }, overlaps, problem: escapeUnseen(error.message) };
  }
}

const NONE: NamedPaths = { count: 0, paths: [] };
