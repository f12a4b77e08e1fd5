import type { RunnerSession } from "../runner/runner.ts";
import type { Standby, StandbyPlace } from "./standby-place.ts";
import { readStartKey } from "./read-start-key.ts";
import { endProcess, takeHeld, toStanding } from "./take-held.ts";

/** Wraps a session without sandboxes so that its processes can stand by. */
export function withStandby<S extends RunnerSession>(
  session: S,
  place: StandbyPlace<Standby>,
  readKey: typeof readStartKey = readStartKey,
): S {
  return {
    ...session,
    async start(command, options) {
      const key = options.standbyKey === undefined ? undefined : await readKey(command, options);
      const held = await takeHeld(place, options, async () => key);
      if (held !== undefined) return held;
      const child = await session.start(command, options);
      return key === undefined ? child : toStanding(child, place, { key, end: () => endProcess(child) });
    },
  };
}
