import type { Mask } from "../http/mask.ts";
import { toOneLine } from "../http/one-line.ts";
import type { Said } from "../wire/said.ts";
import type { Update } from "../wire/wire.ts";

/** The answer of a turn, as the news of its task arrive. */
export type Answer = {
  readonly add: (update: Update) => void;
  /** The conversation's id, as the server names it */
  readonly context: () => string | undefined;
  readonly task: () => string | undefined;
  /** The task's last state; `undefined` for an answer without a task */
  readonly state: () => string | undefined;
  /** True if nothing more will come */
  readonly isOver: () => boolean;
  /** Returns the text of the artifacts, else of the last message, else their data as JSON, else what it said before */
  readonly text: () => string;
  readonly files: () => number;
  /** True if the answer is longer than budgie keeps */
  readonly isTruncated: () => boolean;
};

export type AnswerOptions = {
  /** Called with the text of messages and artifacts */
  readonly onText: (text: string) => void;
  /** Called with what a working agent says, now and then */
  readonly onActivity: (activity: string) => void;
  /** Removes secrets from the answer; pieces that it comes in are masked one by one */
  readonly mask: Mask;
};

// Answers are truncated further on; this bounds the memory that a server can take.
const LONGEST_CHARACTERS = 4 * 1024 * 1024;
const MOST_ARTIFACTS = 1000;
const LONGEST_ACTIVITY = 200;
const ACTIVITY_EVERY_MS = 250;
const NOTHING: Said = { text: "", json: "", files: 0 };

const OVER = new Set(["auth-required", "canceled", "completed", "failed", "input-required", "rejected"]);

/** Creates the answer of a turn. */
export function createAnswer({ mask, onActivity, onText }: AnswerOptions): Answer {
  const artifacts = new Map<string, Said>();
  let [message, last, working] = [NOTHING, NOTHING, NOTHING];
  let [context, task, state]: (string | undefined)[] = [];
  let [isAnswered, isTruncated] = [false, false];
  let shownMs = Number.NEGATIVE_INFINITY;

  function show({ text }: Said): void {
    if (text === "") return;
    onText(`${mask(text)}\n`);
    if (performance.now() - shownMs < ACTIVITY_EVERY_MS) return;
    shownMs = performance.now();
    onActivity(toOneLine(mask(text), LONGEST_ACTIVITY));
  }

  function addArtifact({ id, isAppended, said }: Update["artifacts"][number]): void {
    const before = isAppended ? (artifacts.get(id) ?? NOTHING) : NOTHING;
    const others = [...artifacts].reduce((sum, [key, one]) => sum + (key === id ? 0 : toLength(one)), 0);
    const room = LONGEST_CHARACTERS - others - toLength(before);
    const isFull = !artifacts.has(id) && artifacts.size >= MOST_ARTIFACTS;
    isTruncated ||= isFull || toLength(said) > room;
    if (isFull) return;
    artifacts.set(id, join(before, said, Math.max(room, 0)));
    if (said.text !== "") onText(mask(said.text));
  }

  function addSaid(said: Said): void {
    const isWorking = state === undefined || !OVER.has(state);
    if (isWorking) {
      message = NOTHING;
      working = said;
      show(said);
    } else message = said;
  }

  return {
    add(update) {
      context = update.context ?? context;
      task = update.task ?? task;
      state = update.state ?? state;
      if (update.said !== undefined) addSaid(update.said);
      for (const artifact of update.artifacts) addArtifact(artifact);
      last = update.last ?? last;
      if (update.message === undefined) return;
      [isAnswered, message, state] = [true, update.message, undefined];
      onText(mask(message.text));
    },
    context: () => context,
    task: () => task,
    state: () => state,
    isOver: () => isAnswered || OVER.has(state ?? ""),
    text() {
      const all = [...artifacts.values()];
      const texts = [all.map(({ text }) => text), [message.text]];
      const data = [all.map(({ json }) => json), [message.json]];
      const others = [[last.text], [working.text]];
      const found = [...texts, ...data, ...others].map((some) =>
        some.filter((text) => text.trim() !== "").join("\n\n"),
      );
      return mask(found.find((text) => text !== "") ?? "").slice(0, LONGEST_CHARACTERS);
    },
    files: () => [...artifacts.values(), message].reduce((sum, { files }) => sum + files, 0),
    isTruncated: () => isTruncated,
  };
}

function toLength({ json, text }: Said): number {
  return json.length + text.length;
}

function join(before: Said, said: Said, room: number): Said {
  const text = said.text.slice(0, room);
  return {
    text: before.text + text,
    json: [before.json, said.json.slice(0, room - text.length)].filter((json) => json !== "").join("\n"),
    files: before.files + said.files,
  };
}
