import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { kiroFolder } from "../profile/paths.ts";
import type { Conversation } from "./conversation-store.ts";

/** A stored conversation of V3. */
export type V3Session = Conversation & { readonly cwd: string };

/** Loads a conversation of V3 by its id; `undefined` if this folder has none. */
export function loadV3Session(id: string): V3Session | undefined {
  const file = join(sessionsFolder(), id, "session.json");
  if (!/^[\w-]+$/.test(id) || !existsSync(file)) return undefined;
  const messages = readFileSync(join(sessionsFolder(), id, "messages.jsonl"), "utf8");
  const history = messages.split("\n").slice(0, -1);
  const facts = JSON.parse(readFileSync(file, "utf8")) as Omit<V3Session, "history">;
  return { ...facts, history: history.map((line) => JSON.parse(line) as Conversation["history"][number]) };
}

/** Stores a conversation of V3. */
export function saveV3Session({ history, ...facts }: Conversation): void {
  const folder = join(sessionsFolder(), facts.id);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "messages.jsonl"), history.map((each) => `${JSON.stringify(each)}\n`).join(""));
  writeFileSync(join(folder, "session.json"), JSON.stringify({ ...facts, cwd: process.cwd() }));
}

/** Lists the conversations of the current folder, the newest first. */
export function listV3Sessions(): readonly V3Session[] {
  const folder = sessionsFolder();
  const ids = existsSync(folder) ? readdirSync(folder) : [];
  const time = (id: string): number => statSync(join(folder, id, "session.json")).mtimeMs;
  return ids.toSorted((a, b) => time(b) - time(a)).flatMap((id) => loadV3Session(id) ?? []);
}

/** Deletes a conversation. */
export function deleteV3Session(id: string): void {
  if (/^[\w-]+$/.test(id)) rmSync(join(sessionsFolder(), id), { recursive: true, force: true });
}

/** Returns the folder of the current folder's conversations. */
function sessionsFolder(): string {
  return join(kiroFolder(), "sessions", createHash("sha256").update(process.cwd()).digest("hex").slice(0, 16));
}
