// The public surface of @budgie/core/standby: every export is named here, and becomes API.
export type { Standby, StandbyPlace } from "./standby-place.ts";
export { createStandbys, type StandbysOptions } from "./standbys.ts";
export { readCommandKey, readStartKey } from "./read-start-key.ts";
export { endProcess, takeHeld, toStanding } from "./take-held.ts";
export { withStandby } from "./with-standby.ts";
