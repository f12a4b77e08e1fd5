// The public surface of @budgie/copies/apply: every export is named here, and becomes API.
export { applyChanges, type ApplyResult, type OnConflict } from "./apply-changes.ts";
export { recoverApplies } from "./recover-applies.ts";
export { settleApplies } from "./settle-applies.ts";
export { undoChanges } from "./undo-changes.ts";
