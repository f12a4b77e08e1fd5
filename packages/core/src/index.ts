// The public surface of @budgie/core: every export is named here, and becomes API.
export { BudgieError, ERROR_CODES, type ErrorCode } from "./errors.ts";
export { createOwner, type Owner, type OwnerRecord } from "./owner.ts";
export type {
  AgentPaths,
  AgentProcess,
  Command,
  Exit,
  GcItem,
  GcPolicy,
  GcReport,
  Isolation,
  Projection,
  Runner,
  RunnerSession,
  SessionRecord,
  StartOptions,
  StopReason,
} from "./runner.ts";
export { createSessionId, isSessionId, parseSessionId, type SessionId } from "./session-id.ts";
