// The public surface of @budgie/core/owners: every export is named here, and becomes API.
export { askOwner, type Asker, type OwnerAnswer } from "./ask-owner.ts";
export { readOwnProcess } from "./process-state.ts";
export { parseOwnerRecord, type Isolation, type OwnerProcess, type OwnerRecord } from "./owner-record.ts";
export type { OwnerState } from "./owner-state.ts";
export type { RecordPlace } from "./owner.ts";
