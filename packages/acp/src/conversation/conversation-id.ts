import { z } from "zod";
import { parseBoundedJson, type RunnerSession } from "@budgie/core";

// The agent can write to this file, but can only choose another conversation in its own home.
const FILE = ".budgie-acp.jsonl";

const line = z.object({ conversation: z.string().min(1).max(1000) });

/** Loads the id of a session's conversation; `undefined` if none was begun. */
export async function loadConversationId(session: RunnerSession): Promise<string | undefined> {
  const text = (await session.readFile(FILE)) ?? "";
  try {
    return line.parse(parseBoundedJson(text.trimEnd().split("\n").at(-1) ?? "")).conversation;
  } catch {
    return undefined;
  }
}

/** Saves the id of a session's conversation. */
export async function saveConversationId(session: RunnerSession, conversation: string): Promise<void> {
  await session.appendFile(FILE, `${JSON.stringify({ conversation })}\n`);
}
