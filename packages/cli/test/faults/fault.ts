import type { FaultPlace } from "./helpers/fault-place.ts";

/** A real fault while budgie works. */
export type Fault = {
  /** Its name in the list of docs/reliability.md */
  readonly name: string;
  /** The place where agents run: the tests' engine, an engine that may be broken, or no sandbox */
  readonly on: "engine" | "own engine" | "no sandbox";
  /** The fault's requirement, without which it is skipped: root, or libfaketime in budgie */
  readonly needs?: "root" | "faketime";
  /** More options for budgie */
  readonly args?: readonly string[];
  /** Causes the fault, and expects that callers learn of it */
  readonly inject: (place: FaultPlace) => Promise<void>;
};
