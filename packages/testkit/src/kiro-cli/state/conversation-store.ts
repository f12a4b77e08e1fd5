import { randomUUID } from "node:crypto";
import type { KiroDatabase } from "./database.ts";
import { toExitError } from "../profile/exit-error.ts";
import type { Profile } from "../profile/settings.ts";

/** A prompt and its answer. */
type Exchange = { readonly prompt: string; readonly answer: string };

export type Conversation = {
  readonly id: string;
  /** The stored agent; `undefined` for a new conversation */
  readonly agent: string | undefined;
  readonly model: string | undefined;
  readonly history: readonly Exchange[];
};

/** The conversation to resume. */
export type ResumeChoice = { readonly resume: boolean; readonly resumeId: string | undefined };

/** Loads the conversation that `--resume` selects, or silently starts a new one if there is none. */
export function loadConversation(database: KiroDatabase, profile: Profile, choice: ResumeChoice): Conversation {
  const stored = findRow(database, profile, choice);
  if (stored === undefined && choice.resumeId !== undefined) {
    throw toExitError(1, `error: No saved chat session with id ${choice.resumeId}`);
  }
  const conversation = stored === undefined ? undefined : parseBlob(stored);
  return conversation ?? { id: randomUUID(), agent: undefined, model: undefined, history: [] };
}

/** Stores the whole conversation under the current folder; the last write wins. Failures are ignored, as in Kiro. */
export function saveConversation(database: KiroDatabase, profile: Profile, conversation: Conversation): void {
  const value = JSON.stringify(toBlob(conversation));
  try {
    if (profile === "q1") {
      const sql = "INSERT OR REPLACE INTO conversations (key, value) VALUES (?, ?)";
      database.prepare(sql).run(process.cwd(), value);
    } else {
      const sql = `INSERT INTO conversations_v2 (key, conversation_id, value, created_at, updated_at)
        VALUES (@key, @id, @value, @now, @now)
        ON CONFLICT (key, conversation_id) DO UPDATE SET value = @value, updated_at = @now`;
      database.prepare(sql).run({ key: process.cwd(), id: conversation.id, value, now: Date.now() });
    }
  } catch {
    return;
  }
}

function findRow(database: KiroDatabase, profile: Profile, { resume, resumeId }: ResumeChoice): string | undefined {
  const cwd = process.cwd();
  if (resumeId !== undefined) {
    const sql = "SELECT value FROM conversations_v2 WHERE key = ? AND conversation_id = ?";
    return database.prepare<[string, string], string>(sql).pluck().get(cwd, resumeId);
  }
  if (!resume) return undefined;
  const sql =
    profile === "q1"
      ? "SELECT value FROM conversations WHERE key = ?"
      : "SELECT value FROM conversations_v2 WHERE key = ? ORDER BY updated_at DESC, rowid DESC LIMIT 1";
  return database.prepare<[string], string>(sql).pluck().get(cwd);
}

/** The parts of Kiro's stored value that the stand-in reads. */
type Blob = {
  readonly conversation_id: string;
  readonly history: readonly {
    readonly user: { readonly content: { readonly Prompt: { readonly prompt: string } } };
    readonly assistant: { readonly Response: { readonly content: string } };
  }[];
  readonly context_manager: { readonly current_profile: string };
  readonly model_info: { readonly model_id: string };
};

function parseBlob(value: string): Conversation | undefined {
  try {
    const blob = JSON.parse(value) as Blob;
    const history = blob.history.map(({ user, assistant }) => ({
      prompt: user.content.Prompt.prompt,
      answer: assistant.Response.content,
    }));
    // A conversation without a turn is not resumed.
    if (history.length === 0) return undefined;
    return {
      id: blob.conversation_id,
      agent: blob.context_manager.current_profile,
      model: blob.model_info.model_id,
      history,
    };
  } catch {
    return undefined;
  }
}

function toBlob({ id, agent, model, history }: Conversation) {
  const blob = {
    conversation_id: id,
    next_message: null,
    history: history.map(({ prompt, answer }) => ({
      user: { additional_context: "", env_context: {}, content: { Prompt: { prompt } } },
      assistant: { Response: { message_id: randomUUID(), content: answer } },
      request_metadata: null,
    })),
    valid_history_range: [0, history.length],
    transcript: history.flatMap(({ prompt, answer }) => [`> ${prompt}`, answer]),
    tools: {},
    context_manager: {
      max_context_files_size: 150_000,
      current_profile: agent ?? "kiro_default",
      paths: [],
      hooks: {},
    },
    context_message_length: 0,
    latest_summary: null,
    model_info: { model_name: model ?? "auto", model_id: model ?? "auto", context_window_tokens: 200_000 },
    file_line_tracker: {},
    mcp_enabled: true,
  };
  return blob satisfies Blob;
}
