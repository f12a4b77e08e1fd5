import { cancelledError } from "../session/await-pod.ts";

/** Returns a signal that aborts when the session ends, for its reason, and when the caller's signal does, with `CANCELLED`. */
export function joinSignals(ended: AbortSignal, given: AbortSignal | undefined): AbortSignal {
  if (given === undefined) return ended;
  const cancelled = new AbortController();
  // The caller's own reason may be any value, and most waits reject with the reason.
  const cancel = (): void => cancelled.abort(cancelledError());
  if (given.aborted) cancel();
  // A listener of the caller's own signal would stay there after the turn.
  else AbortSignal.any([given]).addEventListener("abort", cancel, { once: true });
  return AbortSignal.any([ended, cancelled.signal]);
}
