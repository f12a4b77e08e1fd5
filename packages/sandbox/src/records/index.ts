// The public surface of @budgie/sandbox/records: every export is named here, and becomes API.
export { formatWords } from "./format-words.ts";
export { fromRecords } from "./from-records.ts";
export { READ_BOUNDS, tooMuchError } from "./read-bounds.ts";
export { toRecords } from "./to-records.ts";
export { toUnpackable } from "./to-unpackable.ts";
