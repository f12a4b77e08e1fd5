// The public surface of @budgie/core: every export is named here, and becomes API.
export { isGuardHook, listHideableHooks, toAgentHooks, type AgentHook } from "./agents/agent-hooks.ts";
export {
  AGENT_NAME,
  PLAIN_NAME,
  toSubAgentDescription,
  type Agent,
  type AgentProgram,
  type RemoteAgent,
} from "./agents/agent.ts";
export {
  readAgentDefinition,
  readAgentFile,
  toServerEntries,
  toWords,
  type AgentDefinition,
  type ParsedAgentFile,
} from "./agents/agent-definition.ts";
export { truncateText } from "./text/text.ts";
export { isTooDeep, NESTING_FILE, NESTING_VARIABLES, OUTERMOST, type Nesting } from "./policy/nesting.ts";
export { parseDuration, parseTimeout, toDurationText } from "./text/duration.ts";
export {
  allowsHost,
  findEntry,
  EGRESS_MODES,
  KNOWN_TELEMETRY,
  toTargetText,
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
export { OPTION_NAMES, toOption, withOptionNames, type OptionName } from "./options.ts";
export { watchExecutablePaths } from "./changes/watch-executable-paths.ts";
export { ensureMountedFile } from "./runner/ensure-mounted-file.ts";
export { toReasonToKeep, type GcSubject } from "./runner/gc-decision.ts";
export { toGuardedPaths, type UserPaths } from "./policy/guarded-paths.ts";
export { HEALTH_RUNS, toHealthReport, type HealthOptions, type HealthReport } from "./runs/health-report.ts";
export { DEFAULT_TEXT_LIMITS, type TextLimits } from "./protocol/clean-answers.ts";
export { createKiroAcpProtocol, type CreateAcp } from "./kiro/kiro-acp-protocol.ts";
export type { CustomAgent, KiroRequest } from "./kiro/v3/custom-agent.ts";
export type { KiroHarness } from "./kiro/session-protocol.ts";
export { createKiroProtocol, type KiroOptions } from "./kiro/kiro-protocol.ts";
export { findAgentFiles } from "./kiro/agent-files.ts";
export { createFindKiroFlags, type FindKiroFlags, type KiroFlags } from "./kiro/help/kiro-flags.ts";
export { inspectKiro, toHarnesses, type KiroFacts, type Print } from "./kiro/help/inspect-kiro.ts";
export { findV3Obstacle } from "./kiro/v3/v3-obstacle.ts";
export { parseKiroHelp, type HarnessFlags, type KiroEngine } from "./kiro/help/parse-kiro-help.ts";
export { toKiroTools } from "./agents/kiro-tools.ts";
export { allowsFileTools } from "./agents/agent-tools.ts";
export { toV2AllowedTools, toV2Tools } from "./kiro/v2/v2-tools.ts";
export { findV2Obstacle } from "./kiro/v2/v2-obstacle.ts";
export { toV2Definition } from "./kiro/v2/to-v2-definition.ts";
export { ALL_HIDDEN_PATHS, KIRO_HIDDEN_PATHS, PROGRAM_PATHS } from "./policy/program-paths.ts";
export { toSharedProjections, type KiroAcpProgram, type KiroModels } from "./kiro/kiro-command.ts";
export { createOmissions, type Omissions } from "./text/omissions.ts";
export { parseMounts, type Mount } from "./policy/bind-mounts.ts";
export { loadAgent, type LoadedAgent } from "./agents/load-agent.ts";
export { loadAgents, type AgentFolders, type LoadedAgents } from "./agents/load-agents.ts";
export { createOwner, type Owner, type OwnerOptions, type RecordPlace } from "./owners/owner.ts";
export { askOwner, type Asker, type OwnerAnswer } from "./owners/owner-channel.ts";
export { readOwnProcess } from "./owners/owner-process.ts";
export { type Isolation, type OwnerProcess, type OwnerRecord, parseOwnerRecord } from "./owners/owner-record.ts";
export type { OwnerState } from "./owners/owner-state.ts";
export { createMemoryRunLog } from "./runs/memory-run-log.ts";
export { createTail, readBounded } from "./protocol/bounded-output.ts";
export { toExitFailure, type ExitContext } from "./protocol/exit-failure.ts";
export { createOutputFiles, type OutputFiles } from "./protocol/output-files.ts";
export type { PromptFiles } from "./protocol/prompt-templates.ts";
export type { BegunRun, FinishedRun, McpCall, Run, RunLog, RunQuery, UndeliveredQuery, Usage } from "./runs/run-log.ts";
export type {
  KeptProcess,
  OfferedServers,
  OnOutput,
  Protocol,
  ProtocolAnswer,
  ProtocolTurn,
} from "./protocol/protocol.ts";
export { createRunTurn, type TurnDependencies } from "./turn/run-turn.ts";
export { isMemoryShort } from "./turn/is-memory-short.ts";
export { createWarmProcesses, type WarmOptions, type WarmProcesses } from "./turn/warm-processes.ts";
export { withReport } from "./turn/turn-report.ts";
export {
  type Access,
  DEFAULT_ACCESS,
  toDefaultLimits,
  type Limits,
  type Loosening,
  type Policy,
  type Tightening,
  narrowPolicy,
  listSandboxOnly,
} from "./policy/policy.ts";
export type {
  AheadCount,
  AgentPaths,
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
  SessionRecord,
  SessionUse,
  StartOptions,
  DiskReport,
  StopReason,
} from "./runner/runner.ts";
export { openChildFolder } from "./walk/open-folder.ts";
export type { AllowedRoot, GuardedPath, WorkspaceRules } from "./policy/workspace-rules.ts";
export type { Keeping } from "./sessions/take-over-session.ts";
export { createSessionStore, type SessionStore } from "./sessions/session-store.ts";
export type { SessionHomes, TurnUse } from "./runner/session-homes.ts";
export type { RegisteredSession, SessionRegister } from "./sessions/session-register.ts";
export { isWithin } from "./policy/is-within.ts";
export { toHidden, type Cover, type CoverEntry, type Hidden, type HiddenPaths } from "./policy/hidden-paths.ts";
export { isHomePath } from "./runner/home-path.ts";
export { createSessionId, isSessionId, parseSessionId, type SessionId } from "./runner/session-id.ts";
export { sanitizeText } from "./text/sanitize-text.ts";
export { parseJson } from "./text/parse-json.ts";
export { readPlainFile } from "./text/read-plain-file.ts";
export { createByteBudget, type ByteBudget } from "./bounds/byte-budget.ts";
export { createLineReader } from "./bounds/line-reader.ts";
export { JSON_BOUNDS, REQUEST_BOUNDS, type JsonBounds } from "./bounds/json-bounds.ts";
export { parseBoundedJson, parseCountedJson } from "./bounds/parse-bounded-json.ts";
export { parseRequest } from "./bounds/parse-request.ts";
export { createRate, type Rate } from "./bounds/rate.ts";
export { readBody } from "./bounds/read-body.ts";
export { createRequestIntake } from "./bounds/request-intake.ts";
export { createJsonScan } from "./bounds/scan-json.ts";
export { MOST_MISSED, toUndeliveredAnswers, type UndeliveredAnswers } from "./runs/undelivered-answers.ts";
export type { TurnPhase } from "./queue/turn-queue.ts";
export type { Reply, RunTurn, TurnHooks, TurnProgress, TurnRequest } from "./turn/turn.ts";
export { DEFAULT_MAX_QUEUED, toTurnLimits, type TurnLimits, type TurnLimitWishes } from "./queue/turn-limits.ts";
export { RETRY_MODES, type RetryMode } from "./turn/retry.ts";
export type { TurnRateLimits } from "./queue/turn-rate.ts";
