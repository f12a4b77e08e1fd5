// The public surface of @budgie/copies/review: every export is named here, and becomes API.
export { reviewSet, type ReviewOptions } from "./review-set.ts";
export { beginDrift, type EarlyDrift } from "./begin-drift.ts";
