import { randomUUID } from "node:crypto";
import type { KiroDatabase } from "./open-database.ts";
import { toExitError } from "../profile/exit-error.ts";
import type { Settings } from "../profile/settings.ts";
import { toConversation, type Conversation } from "./conversation.ts";
import { toSessionFiles } from "./session-files.ts";

/** The conversation to resume. */
type ResumeChoice = { readonly resume: boolean; readonly resumeId: string | undefined };

/** The conversations of `chat` in the current folder. */
export type ConversationStore = {
  /** Loads the conversation to resume, or silently begins one if there is none. */
  readonly load: (choice: ResumeChoice) => Conversation;
  /** Stores a whole conversation; the last write wins. Failures are ignored, as in Kiro. */
  readonly save: (conversation: Conversation) => void;
};

/** Opens the conversations of a harness: V2 has them in its database, V3 in files. */
export function openConversations(database: KiroDatabase, settings: Settings): ConversationStore {
  const { find, save } = settings.harness === "v3" ? toFiles() : toRows(database);
  return {
    load(choice) {
      const stored = find(choice);
      // Later versions begin another conversation instead.
      if (stored === undefined && choice.resumeId !== undefined && !settings.traits.hasV3) {
        throw toExitError(1, `error: No saved chat session with id ${choice.resumeId}`);
      }
      return stored ?? toConversation(`${settings.harness === "v3" ? "sess_" : ""}${randomUUID()}`);
    },
    save(conversation) {
      try {
        save(conversation);
      } catch {
        return;
      }
    },
  };
}

type Store = {
  readonly find: (choice: ResumeChoice) => Conversation | undefined;
  readonly save: (conversation: Conversation) => void;
};

function toFiles(): Store {
  const { list, load, save } = toSessionFiles("v3");
  return {
    find({ resume, resumeId = resume ? list()[0] : undefined }) {
      return resumeId === undefined ? undefined : load(resumeId);
    },
    save,
  };
}

function toRows(database: KiroDatabase): Store {
  const cwd = process.cwd();
  return {
    find({ resume, resumeId }) {
      if (!resume && resumeId === undefined) return undefined;
      const sql = `SELECT value FROM conversations_v2 WHERE key = @cwd AND (@id IS NULL OR conversation_id = @id)
        ORDER BY updated_at DESC, rowid DESC LIMIT 1`;
      const id = resumeId ?? null;
      const value = database.prepare<[object], string>(sql).pluck().get({ cwd, id });
      return value === undefined ? undefined : (JSON.parse(value) as Conversation);
    },
    save(conversation) {
      const sql = `INSERT INTO conversations_v2 (key, conversation_id, value, created_at, updated_at)
        VALUES (@cwd, @id, @value, @now, @now)
        ON CONFLICT (key, conversation_id) DO UPDATE SET value = @value, updated_at = @now`;
      const { id } = conversation;
      database.prepare(sql).run({ cwd, id, value: JSON.stringify(conversation), now: Date.now() });
    },
  };
}
