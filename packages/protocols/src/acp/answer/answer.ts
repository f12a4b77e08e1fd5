import { z } from "zod";
import { oneLine } from "./one-line.ts";
import { createToolUses } from "./tool-uses.ts";
import { createUsageReports, type UsageOptions, type UsageReports } from "./usage-reports.ts";

/** The parts of updates that make up an answer; all else is ignored. */
const update = z.discriminatedUnion("sessionUpdate", [
  z.object({
    sessionUpdate: z.literal("agent_message_chunk"),
    content: z.object({ type: z.literal("text"), text: z.string() }),
    _meta: z.unknown().optional(),
    messageId: z
      .string()
      .nullish()
      .transform((id) => id ?? undefined),
  }),
  // After a permission, some agents send only `tool_call_update`.
  z.object({
    sessionUpdate: z.enum(["tool_call", "tool_call_update"]),
    title: z.string().nullish(),
    toolCallId: z.unknown().optional(),
    kind: z.unknown().optional(),
  }),
  // Checked by hand: a schema of each entry is slow, and keeps an issue for each invalid one.
  z.object({ sessionUpdate: z.literal("plan"), entries: z.unknown().optional() }),
  z.looseObject({ sessionUpdate: z.enum(["session_info_update", "usage_update"]) }),
]);

const notification = z.object({ sessionId: z.string(), update });

/** The answer of a turn, built from its updates. */
export type Answer = {
  /** Takes the parameters of a `session/update`. */
  readonly add: (params: unknown) => void;
  /** Returns the last message */
  readonly text: () => string;
  /** True if the last message is longer than budgie keeps */
  readonly isTruncated: () => boolean;
  /** Takes the cost in the answer to the prompt */
  readonly end: UsageReports["addAnswer"];
};

export type AnswerOptions = UsageOptions & {
  readonly sessionId: string;
  /** Called with the title of a tool, or the state of a plan */
  readonly onActivity: (activity: string) => void;
};

// Answers are truncated further on; this bounds the memory that an agent can take.
const LONGEST_CHARACTERS = 4 * 1024 * 1024;
const LONGEST_TITLE = 200;

/**
 * Creates the answer of a turn: the text since the last use of a tool, or since the message id changed. It restarts only when new text
 * arrives, since many agents end with a tool call's update. The events tell the text of messages, with a line for each tool and plan, the kind of
 * each use of a tool, and the cost.
 */
export function createAnswer({ onActivity, sessionId, ...usageOptions }: AnswerOptions): Answer {
  const { events } = usageOptions;
  let text = "";
  let isFresh = true;
  const uses = createToolUses((kind) => events.emit("tool", kind));
  let isTruncated = false;
  let messageId: string | undefined;
  const usage = createUsageReports(usageOptions);

  function addText(chunk: string, id: string | undefined): void {
    if (chunk === "") return;
    const isNext = isFresh || (id !== undefined && messageId !== undefined && id !== messageId);
    if (isNext) [text, isTruncated] = ["", false];
    [isFresh, messageId] = [false, id ?? messageId];
    isTruncated ||= text.length + chunk.length > LONGEST_CHARACTERS;
    text += chunk.slice(0, LONGEST_CHARACTERS - text.length);
    tell(chunk);
  }

  function tell(chunk: string): void {
    events.emit("output", Buffer.from(chunk), "stdout");
  }

  function show(activity: string): void {
    tell(`\n[${activity}]\n`);
    onActivity(activity);
  }

  function useTool(title: string): void {
    isFresh = true;
    if (title !== "") show(formatTitle(title));
  }

  return {
    add(params) {
      const { data } = notification.safeParse(params);
      if (data?.sessionId !== sessionId) return;
      const found = data.update;
      switch (found.sessionUpdate) {
        case "agent_message_chunk":
          usage.addRequest(found._meta);
          return addText(found.content.text, found.messageId);
        case "tool_call":
        case "tool_call_update":
          uses.add(found);
          return useTool(found.title ?? "");
        case "plan":
          return show(formatPlan(found.entries));
        case "session_info_update":
        case "usage_update":
          return usage.add(found);
      }
    },
    text: () => text,
    isTruncated: () => isTruncated,
    end: usage.addAnswer,
  };
}

/** Returns a tool's title on one line, truncated to 200 characters, since an agent chose it. */
export function formatTitle(text: string): string {
  const line = oneLine(text);
  return line.length <= LONGEST_TITLE ? line : `${line.slice(0, LONGEST_TITLE)}...`;
}

const MOST_ENTRIES = 1000;

function formatPlan(entries: unknown): string {
  const listed: readonly unknown[] = Array.isArray(entries) ? entries.slice(0, MOST_ENTRIES) : [];
  const done = listed.filter((entry) => (entry as { readonly status?: unknown } | null)?.status === "completed").length;
  return `plan: ${done} of ${listed.length} done`;
}
