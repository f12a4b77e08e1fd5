import { z } from "zod";
import type { RunnerSession } from "@budgie/core";
import { parseBoundedJson } from "@budgie/core/bounds";

// The agent can write to this file, but can only choose another conversation in its own home.
const FILE = ".budgie-acp.jsonl";

const line = z.object({ conversation: z.string().min(1).max(1000), begunMs: z.number().optional() });

/** A session's conversation, and the time of its begin, in milliseconds. */
export type SavedConversation = { readonly id: string; readonly begunMs?: number | undefined };

/** Loads a session's conversation; `undefined` if none was begun. */
export async function loadConversation(session: RunnerSession): Promise<SavedConversation | undefined> {
  const text = (await session.readFile(FILE)) ?? "";
  try {
    const { begunMs, conversation } = line.parse(parseBoundedJson(text.trimEnd().split("\n").at(-1) ?? ""));
    return { id: conversation, begunMs };
  } catch {
    return undefined;
  }
}

/** Saves a session's conversation. */
export async function saveConversation(session: RunnerSession, { begunMs, id }: SavedConversation): Promise<void> {
  await session.appendFile(FILE, `${JSON.stringify({ conversation: id, begunMs })}\n`);
}
