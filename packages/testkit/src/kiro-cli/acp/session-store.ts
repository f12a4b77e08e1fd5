import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { kiroFolder } from "../profile/paths.ts";
import type { Conversation } from "../state/conversation-store.ts";

/** Loads a conversation of the second engine; `undefined` if there is none. `chat` keeps its conversations elsewhere. */
export function loadSession(id: string): Conversation | undefined {
  const file = toFile(id, "json");
  if (!/^[\w-]+$/.test(id) || !existsSync(file)) return undefined;
  const { agent, model } = JSON.parse(readFileSync(file, "utf8")) as Pick<Conversation, "agent" | "model">;
  return { id, agent, model, history: loadHistory(id) };
}

/** Stores a conversation: rewrites its facts with every turn, and appends the turn's messages. */
export function saveSession({ id, agent, model, history }: Conversation): void {
  const last = history.at(-1);
  mkdirSync(join(kiroFolder(), "sessions", "cli"), { recursive: true });
  if (last !== undefined) {
    const lines = [toLine("Prompt", last.prompt), toLine("AssistantMessage", last.answer)];
    appendFileSync(toFile(id, "jsonl"), lines.join(""));
  }
  writeFileSync(toFile(id, "json"), JSON.stringify({ session_id: id, cwd: process.cwd(), agent, model }));
}

function toFile(id: string, ending: "json" | "jsonl"): string {
  return join(kiroFolder(), "sessions", "cli", `${id}.${ending}`);
}

type Line = {
  readonly version: "v1";
  readonly kind: "Prompt" | "AssistantMessage";
  readonly data: {
    readonly message_id: string;
    readonly content: readonly { readonly kind: "text"; readonly data: string }[];
  };
};

function toLine(kind: Line["kind"], text: string): string {
  const line: Line = {
    version: "v1",
    kind,
    data: { message_id: randomUUID(), content: [{ kind: "text", data: text }] },
  };
  return `${JSON.stringify(line)}\n`;
}

function loadHistory(id: string): Conversation["history"] {
  const file = toFile(id, "jsonl");
  const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
  const texts = lines.map((line) => (JSON.parse(line) as Line).data.content.map(({ data }) => data).join(""));
  return texts.flatMap((prompt, index) => (index % 2 === 0 ? [{ prompt, answer: texts[index + 1] ?? "" }] : []));
}
