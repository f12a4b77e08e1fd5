import { addNotices } from "../reports/add-notices.ts";
import { askAgent } from "../steps/ask-agent.ts";
import { checkRequest } from "../steps/check-request.ts";
import { copyWorkspace } from "../steps/copy-workspace.ts";
import { countUse } from "../reports/count-use.ts";
import { countUsage } from "../reports/count-usage.ts";
import { findGit } from "../steps/find-git.ts";
import { keepProcess } from "../steps/keep-process.ts";
import { limitText } from "../steps/limit-text.ts";
import { logRun } from "../steps/log-run.ts";
import { noteWritable } from "../steps/note-writable.ts";
import { openSession } from "../steps/open-session.ts";
import { refuseNesting } from "../steps/refuse-nesting.ts";
import { reportChanges } from "../reports/report-changes.ts";
import { reportOthers } from "../reports/report-others.ts";
import { reportMissed } from "../reports/report-missed.ts";
import { reserveBudget } from "../steps/reserve-budget.ts";
import { resumeSession } from "../steps/resume-session.ts";
import { retryOnce } from "../steps/retry-once.ts";
import { waitInQueue } from "../steps/wait-in-queue.ts";
import { agentSteps, callerSteps } from "./walk-steps.ts";

/** The steps of every turn, in their order. Each is created once, with the settings, and has what all turns share. */
export const STEPS = {
  refuseNesting,
  callerSteps,
  checkRequest,
  reportMissed,
  resumeSession,
  waitInQueue,
  logRun,
  reserveBudget,
  openSession,
  findGit,
  copyWorkspace,
  noteWritable,
  reportOthers,
  reportChanges,
  countUse,
  addNotices,
  keepProcess,
  retryOnce,
  countUsage,
  limitText,
  agentSteps,
  askAgent,
};
