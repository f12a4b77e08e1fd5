import { orAborted } from "@budgie/core/bounds";
import type { CopyTurn, SharedBase } from "@budgie/core/turn";
import type { ReadOnce } from "./read-once.ts";

/** A directory as it was read once, from this time on, in milliseconds since 1970 */
export type SharedReading = ReadOnce & { readonly startedMs: number };

/** The directories that are read once for several copies. */
export type SharedReadings = {
  /** Resolves to the directory of a turn, which the first turn with this base has read. Rejects if the turn is cancelled meanwhile */
  readonly find: (turn: CopyTurn, base: SharedBase) => Promise<SharedReading>;
};

/** Creates the readings. `read` is not cancelled with the turn that needs it first. */
export function createSharedReadings(
  read: (turn: CopyTurn, over: AbortSignal) => Promise<SharedReading>,
): SharedReadings {
  const readings = new WeakMap<SharedBase, Map<string, Promise<SharedReading>>>();
  return {
    find(turn, base) {
      const ofBase = readings.get(base) ?? new Map<string, Promise<SharedReading>>();
      readings.set(base, ofBase);
      const reading = ofBase.get(turn.directory) ?? read(turn, base.over);
      ofBase.set(turn.directory, reading);
      return orAborted(reading, turn.signal);
    },
  };
}
