import { orAborted } from "@budgie/core/bounds";
import type { CopyTurn, SharedBase } from "@budgie/core/turn";
import type { ReadOnce } from "./read-once.ts";

/** The directories that are read once for several copies. */
export type SharedReadings = {
  /** Resolves to the directory of a turn, which the first turn with this base has read. Rejects if the turn is cancelled meanwhile */
  readonly find: (turn: CopyTurn, base: SharedBase) => Promise<ReadOnce>;
};

/** Creates the readings. `read` is not cancelled with the turn that needs it first. */
export function createSharedReadings(read: (turn: CopyTurn, over: AbortSignal) => Promise<ReadOnce>): SharedReadings {
  const readings = new WeakMap<SharedBase, Map<string, Promise<ReadOnce>>>();
  return {
    find(turn, base) {
      const ofBase = readings.get(base) ?? new Map<string, Promise<ReadOnce>>();
      readings.set(base, ofBase);
      const reading = ofBase.get(turn.directory) ?? read(turn, base.over);
      ofBase.set(turn.directory, reading);
      return orAborted(reading, turn.signal);
    },
  };
}
