import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { kiroFolder } from "../profile/kiro-folder.ts";
import type { Harness } from "../profile/settings.ts";
import type { Conversation } from "./conversation.ts";

/** The files of conversations: those of V2 over ACP, and all of V3. A folder of V3 belongs to a directory. */
export type SessionFiles = {
  readonly load: (id: string) => Conversation | undefined;
  readonly save: (conversation: Conversation) => void;
  readonly remove: (id: string) => void;
  /** Lists the ids of the conversations, the newest first */
  readonly list: () => readonly string[];
};

/** Returns the files of a directory's conversations. */
export function toSessionFiles(harness: Harness, directory = process.cwd()): SessionFiles {
  const folder = harness === "v2" ? "cli" : createHash("sha256").update(directory).digest("hex").slice(0, 16);
  const root = join(kiroFolder(), "sessions", folder);
  const toPaths = (id: string) =>
    harness === "v2"
      ? { facts: join(root, `${id}.json`), messages: join(root, `${id}.jsonl`) }
      : { facts: join(root, id, "session.json"), messages: join(root, id, "messages.jsonl") };
  return {
    load(id) {
      const { facts, messages } = toPaths(id);
      if (!/^[\w-]+$/.test(id) || !existsSync(facts)) return undefined;
      const lines = readFileSync(messages, "utf8").split("\n").slice(0, -1);
      const history = lines.map((line) => JSON.parse(line) as Conversation["history"][number]);
      return { ...(JSON.parse(readFileSync(facts, "utf8")) as Omit<Conversation, "history">), history };
    },
    save({ history, ...given }) {
      const { facts, messages } = toPaths(given.id);
      mkdirSync(join(facts, ".."), { recursive: true });
      writeFileSync(messages, history.map((each) => `${JSON.stringify(each)}\n`).join(""));
      writeFileSync(facts, JSON.stringify(given));
    },
    remove(id) {
      if (/^[\w-]+$/.test(id)) rmSync(join(root, id), { recursive: true, force: true });
    },
    list() {
      const time = (id: string): number => statSync(toPaths(id).facts).mtimeMs;
      return (existsSync(root) ? readdirSync(root) : []).toSorted((a, b) => time(b) - time(a));
    },
  };
}
