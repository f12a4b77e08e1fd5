import { z } from "zod";
import { DEFAULT_TEXT_LIMITS, DEFAULT_MAX_QUEUED, RETRY_MODES } from "@budgie/core/turn";
import { group, option } from "./option.ts";
import { NUMBERS, PATH, SWITCH } from "./option-values.ts";

// Messages complete the sentence "Expected --model to be <message>, got …".
const duration = z.string();
const rate = z.string().regex(/^(?:.+=)?\d{1,9}$/s, 'a number, or an agent and its number such as "code-reviewer=5"');
const { count, depth, limit, parallel, positive } = NUMBERS;

/** The options of turns, of sessions and of the run log. */
export const turnOptions = {
  ...group("Turns:", {
    agentTimeout: option(z.string().default("10m"), {
      help: "how long one attempt may take, such as 90s, 10m or 1h30m",
      value: "<duration>",
      brief: "how long one attempt may take, such as 10m",
    }),
    retry: option(z.enum(RETRY_MODES, '"safe", "always" or "never"').default("safe"), {
      help: "try once more after a timeout or a crash: safe (only if the workspace did not change meanwhile), always or never",
      value: "<when>",
    }),
    heartbeat: option(duration.default("10s"), {
      help: "the interval of progress notifications, for clients that ask for them",
      value: "<duration>",
      visibility: "file",
    }),
    softDeadline: option(z.string().default("auto"), {
      help:
        "when a call is answered before its agent has finished, such as 50s; auto (for clients with a known timeout) or " +
        "never",
      value: "<duration>",
    }),
    maxConcurrent: option(positive.optional(), {
      help: "how many turns run at once; as many as the machine can run by default",
      value: "<number>",
    }),
    maxQueued: option(count.optional(), {
      help: `how many more turns wait in the queue; ${DEFAULT_MAX_QUEUED} by default, 0 refuses them`,
      value: "<number>",
      visibility: "file",
    }),
    maxParallel: option(parallel.default(8), {
      help: "how many agents one call of invoke_parallel runs, which clients have where agents work on copies; 8 by default, at most 64, 0 for no such calls",
      value: "<number>",
      visibility: "file",
    }),
    maxTurnsPerMinute: option(z.array(rate).default([]), {
      help: "refuse more turns, of all agents (30) or of one (code-reviewer=5); repeatable, 0 for no limit",
      value: "<limit>",
      repeatable: "list",
      visibility: "file",
    }),
    maxDepth: option(depth.optional(), {
      help: "how deeply agents may be nested, each started by a budgie of the agent around it; 1 by default",
      value: "<number>",
    }),
    sanitize: option(SWITCH.default(DEFAULT_TEXT_LIMITS.sanitize), {
      help: "remove invisible and control characters from prompts and answers",
      visibility: "file",
    }),
    maxPromptBytes: option(limit.default(DEFAULT_TEXT_LIMITS.maxPromptBytes), {
      help: "refuse longer prompts; 400000 by default, 0 refuses none",
      value: "<number>",
      visibility: "file",
    }),
    maxAnswerBytes: option(limit.default(DEFAULT_TEXT_LIMITS.maxAnswerBytes), {
      help: "cut longer answers, and keep them whole in the session's home; 100000 by default, 0 cuts none",
      value: "<number>",
      visibility: "file",
    }),
  }),
  ...group("Sessions:", {
    sessionsDir: option(PATH.default("~/.kiro/sub-agents/sessions"), {
      help: "where sessions have their folders, unless in a sandbox",
      value: "<dir>",
    }),
    keepSessions: option(SWITCH.default(false), {
      help: "keep sessions on exit, so that the next budgie can resume them by id",
    }),
    stickySessions: option(SWITCH.default(false), {
      help: 'resume the client\'s last session in calls without a session id; "new" then begins a new one',
    }),
    sessionTtl: option(duration.default("24h"), {
      help: "how long a session may be unused before it is removed, such as 90m or 24h",
      value: "<duration>",
    }),
    warmIdle: option(duration.default("5m"), {
      help: "how long an ACP agent's process, or a sandbox, waits for the next turn of its session; 0 ends processes with each turn",
      value: "<duration>",
    }),
    ahead: option(count.default(8), {
      help: "how many next turns a sandbox keeps ready, at most 8, and sessions, as many as began at once before; 8 by default, 0 makes nothing before a call",
      value: "<number>",
      visibility: "file",
    }),
    sweepEvery: option(duration.default("10m"), {
      help: "how often to remove what killed budgies left, from the first call on; 0 for never",
      value: "<duration>",
      visibility: "file",
    }),
  }),
  ...group("Changes:", {
    apply: option(z.enum(["caller", "ask", "person"], '"caller", "ask" or "person"').default("caller"), {
      help: "who applies the changes of an agent's copy: caller (the MCP client too, once it has read them all), ask (as caller, once its user has confirmed) or person (at a terminal alone)",
      value: "<who>",
      visibility: "file",
    }),
    keepChanges: option(duration.default("7d"), {
      help: "how long change sets are kept, to be applied or undone, such as 12h or 7d",
      value: "<duration>",
      visibility: "file",
    }),
  }),
  ...group("Run log:", {
    keepAnswers: option(SWITCH.default(true), {
      help: "keep answers in the run log, so that undelivered ones are not lost",
      visibility: "file",
    }),
    keepRuns: option(z.string().default("30d"), {
      help: "how long the run log keeps a turn and its answer, such as 12h or 30d; 0 for no limit",
      value: "<duration>",
    }),
    keepTranscripts: option(SWITCH.default(false), {
      help: 'keep the end of what agents print in the run log, for "budgie logs" of turns that have ended',
      visibility: "file",
    }),
    maxRunsBytes: option(limit.default(256 * 1024 ** 2), {
      help: "how large the run log gets before the oldest transcripts and answers are removed; 268435456 by default, 0 for no limit",
      value: "<number>",
      visibility: "file",
    }),
  }),
};
