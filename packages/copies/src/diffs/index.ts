// The public surface of @budgie/copies/diffs: every export is named here, and becomes API.
export { countChanges, formatCounts, type ChangeCounts } from "./count-changes.ts";
export { escapeUnseen } from "./escape-bytes.ts";
export { findVerb } from "./render-change.ts";
export { renderChanges, showChanges, type ShownChanges } from "./show-changes.ts";
