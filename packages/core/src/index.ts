// The public surface of @budgie/core: every export is named here, and becomes API.
export type { Agent } from "./agents/agent.ts";
export { loadAgents } from "./agents/load-agents.ts";
export {
  allowsHost,
  findEntry,
  EGRESS_MODES,
  CERTIFICATE_REFUSED,
  KNOWN_TELEMETRY,
  formatTarget,
  type AllowedHost,
  type EgressCount,
  type EgressDenial,
  type EgressMode,
  type EgressPolicy,
  type EgressReport,
} from "./egress.ts";
export {
  BudgieError,
  ERROR_CODES,
  type ErrorCode,
  type FailureReport,
  type McpServerReport,
  type UndeliveredAnswer,
  type TurnReport,
} from "./errors.ts";
export { OPTION_NAMES, formatOption, withOptionNames, type OptionName } from "./option-name.ts";
export { createOwner, type Owner } from "./owners/owner.ts";
export { ensureMountedFile } from "./text/replace-file.ts";
export { findReasonToKeep, type GcSubject } from "./runner/find-reason-to-keep.ts";
export { isHomePath } from "./runner/is-home-path.ts";
export type {
  AheadCount,
  AgentProcess,
  Capacity,
  Command,
  Exit,
  GcItem,
  GcPolicy,
  GcReport,
  HomeFile,
  Projection,
  Runner,
  RunnerAhead,
  RunnerSession,
  SandboxService,
  HomeRecord,
  LastUse,
  StartOptions,
  DiskReport,
  StopReason,
} from "./runner/runner.ts";
export type { SessionHomes, ResourceUse } from "./runner/session-homes.ts";
export { createSessionId, isSessionId, parseSessionId, type SessionId } from "./runner/session-id.ts";
export { createRunTurn } from "./turn/run/run-turn.ts";
export type { TurnRequest } from "./turn/turn-request.ts";
export type { Reply, RunTurn } from "./turn/turn.ts";
