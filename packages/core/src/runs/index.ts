// The public surface of @budgie/core/runs: every export is named here, and becomes API.
export { addTokens, withoutFloatError } from "./add-usage.ts";
export type { ChangedFile, ChangedFiles } from "../changed-files.ts";
export { formatFailedSummary, formatSummary } from "./format-summary.ts";
export { HEALTH_RUNS, buildHealthReport, type HealthReport } from "./health-report.ts";
export { createMemoryRunLog } from "./memory-run-log.ts";
export type {
  BegunRun,
  FinishedRun,
  McpCall,
  Run,
  RunFacts,
  RunLog,
  RunOutcome,
  RunQuery,
  SandboxFacts,
  ToolCount,
  UndeliveredQuery,
} from "./run-log.ts";
export { MOST_MISSED, chooseUndelivered, type UndeliveredAnswers } from "./undelivered-answers.ts";
export {
  TOKEN_FIGURES,
  type Cost,
  type TokenFigures,
  type Usage,
  type UsageReport,
  type UsageTotals,
} from "../usage.ts";
