const FILL_LIMIT_MS = 30 * 60_000;

/** Returns a signal that also ends a fill which takes too long. */
export function withinFillLimit(signal?: AbortSignal): AbortSignal {
  return AbortSignal.any([AbortSignal.timeout(FILL_LIMIT_MS), ...(signal === undefined ? [] : [signal])]);
}
