import type { FaultPlace } from "./helpers/fault-place.ts";

/** Something that goes wrong while budgie works, made for real. */
export type Fault = {
  /** As the table in docs/reliability.md has it */
  readonly name: string;
  /** What agents run on: the tests' engine, one that may be broken, or no sandbox */
  readonly on: "engine" | "own engine" | "no sandbox";
  /** What has to be there to make it, without which it does not strike: root, or libfaketime in budgie */
  readonly takes?: "root" | "faketime";
  /** More options of budgie's */
  readonly args?: readonly string[];
  /** Lets it happen, and expects that callers are told so */
  readonly strike: (place: FaultPlace) => Promise<void>;
};
