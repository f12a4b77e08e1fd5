// The public surface of @budgie/core: every export is named here, and becomes API.
export { toHidableHooks, type AgentHook } from "./agent-hooks.ts";
export type { Agent } from "./agent.ts";
export { cutText } from "./cut-text.ts";
export { DEPTH_FILE, DEPTH_VARIABLES, isTooDeep, OUTERMOST, type Depth } from "./depth.ts";
export { parseDuration, parseTimeout, toDurationText } from "./duration.ts";
export {
  allowsHost,
  findEntry,
  EGRESS_MODES,
  type AllowedHost,
  type EgressCount,
  type EgressDenial,
  type EgressMode,
  type EgressPolicy,
  type EgressReport,
} from "./egress.ts";
export { BudgieError, ERROR_CODES, type ErrorCode } from "./errors.ts";
export { watchExecutablePaths } from "./executable-paths/watch-executable-paths.ts";
export { toReasonToKeep, type GcSubject } from "./gc-verdict.ts";
export { toGuardedPaths } from "./guarded-paths.ts";
export { HEALTH_RUNS, toHealthReport, type HealthOptions, type HealthReport } from "./health-report.ts";
export { DEFAULT_HYGIENE, type Hygiene } from "./hygiene.ts";
export { createKiroProtocol, type KiroOptions } from "./kiro/kiro-protocol.ts";
export { toAgentProjections, toSharedProjections } from "./kiro/kiro-projections.ts";
export { createLeftOut, type LeftOut } from "./left-out.ts";
export { parseMounts, type Mount } from "./mount-table.ts";
export { loadAgents, type AgentFolders, type LoadedAgents } from "./load-agents.ts";
export { createOwner, type Owner, type OwnerOptions, type RecordPlace } from "./owner.ts";
export { toOwnProcess } from "./owner-process.ts";
export { parseOwnerRecord, type OwnerProcess, type OwnerRecord } from "./owner-record.ts";
export type { OwnerState } from "./owner-state.ts";
export { createMemoryRunLog } from "./memory-run-log.ts";
export { createOutputFiles, type OutputFiles } from "./output-files.ts";
export type { PromptFiles } from "./prompt-templates.ts";
export type { BegunRun, FinishedRun, MissedAnswer, Run, RunLog, RunQuery, Usage } from "./run-log.ts";
export type { Protocol, ProtocolAnswer, ProtocolTurn } from "./protocol.ts";
export { createRunTurn, type TurnDependencies } from "./run-turn.ts";
export type {
  Access,
  AgentPaths,
  AgentProcess,
  Capacity,
  Command,
  Exit,
  GcItem,
  GcPolicy,
  GcReport,
  Isolation,
  Limits,
  Projection,
  Runner,
  RunnerSession,
  SessionRecord,
  SessionUse,
  StartOptions,
  DiskReport,
  StopReason,
} from "./runner.ts";
export {
  DEFAULT_LIMITS,
  toTighterPolicy,
  toWalls,
  type Loosening,
  type Policy,
  type Tightening,
} from "./tighter-policy.ts";
export { holdChild } from "./walk/held-folder.ts";
export type { AllowedRoot, GuardedPath, WorkspaceRules } from "./workspace-rules.ts";
export type { Keeping } from "./kept-sessions.ts";
export { createSessionBook, type SessionBook } from "./session-book.ts";
export type { SessionHomes } from "./session-homes.ts";
export type { RegisteredSession, SessionRegister } from "./session-register.ts";
export { createSessionId, isSessionId, parseSessionId, type SessionId } from "./session-id.ts";
export { sanitizeText } from "./sanitize-text.ts";
export { toMissedAnswers } from "./to-missed-answers.ts";
export type { Reply, RunTurn, TurnHooks, TurnPhase, TurnProgress, TurnRequest } from "./turn.ts";
export { DEFAULT_MAX_QUEUED, toTurnLimits, type TurnLimits, type TurnLimitWishes } from "./turn-limits.ts";
export { RETRY_MODES, type RetryMode } from "./retry.ts";
export type { TurnRateLimits } from "./turn-rate.ts";
