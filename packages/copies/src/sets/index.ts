// The public surface of @budgie/copies/sets: every export is named here, and becomes API.
export {
  createChangeSets,
  DEFAULT_KEEP_CHANGES,
  isOpen,
  notOpen,
  type ApplyOutcome,
  type ChangeSets,
  type KeepChanges,
  type StoredSet,
} from "./change-sets.ts";
export type { Change, ChangeSet, Side } from "./change-set.ts";
