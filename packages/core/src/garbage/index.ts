// The public surface of @budgie/core/garbage: every export is named here, and becomes API.
export { forgetRemoved, sweepGarbage } from "./sweep-garbage.ts";
export { createSweeper, type Sweep, type Sweeper } from "./sweeper.ts";
