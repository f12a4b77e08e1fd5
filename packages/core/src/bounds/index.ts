// The public surface of @budgie/core/bounds: every export is named here, and becomes API.
export { addPiece } from "./add-piece.ts";
export { createByteBudget, type ByteBudget } from "./byte-budget.ts";
export { JSON_BOUNDS, REQUEST_BOUNDS, type JsonBounds } from "./json-bounds.ts";
export { isRecord } from "./is-record.ts";
export { createLineReader } from "./line-reader.ts";
export { orAborted } from "./or-aborted.ts";
export { parseBoundedJson, parseCountedJson } from "./parse-bounded-json.ts";
export { parseRequest } from "./parse-request.ts";
export { createRate, type Rate } from "./rate.ts";
export { readBody } from "./read-body.ts";
export { readEntries } from "./read-entries.ts";
export { createRequestIntake } from "./request-intake.ts";
export { createJsonScan } from "./json-scan.ts";
