// The public surface of @budgie/core/turn: every export is named here, and becomes API.
export { DEFAULT_MAX_QUEUED, fillLimits, type LimitWishes } from "../queue/turn-limits.ts";
export type { RateLimits } from "../queue/turn-rate.ts";
export { createLeftWatch, formatLeft, type LeftChanges } from "./left-changes.ts";
export { STEPS } from "./run/steps.ts";
export { DEFAULT_TEXT_LIMITS, type TextLimits } from "./text-limits.ts";
export { RETRY_MODES, type RetryMode, type Provided, type TurnDependencies } from "./turn-settings.ts";
export { listLacks, listRefreshed } from "./list-lacks.ts";
export type { CopyTurn, SharedBase, WorkspaceCopies } from "./workspace-copies.ts";
export { Turn, type Step, type TurnHooks } from "./turn.ts";
