import type { TurnEvents } from "@budgie/core/protocol";
import type { Mask } from "../http/mask.ts";
import { oneLine } from "../http/one-line.ts";
import type { Content } from "../wire/content.ts";
import type { Update } from "../wire/wire.ts";

/** The answer of a turn, built from the updates of its task. */
export type Answer = {
  readonly add: (update: Update) => void;
  /** The conversation's id, as the server names it */
  readonly context: () => string | undefined;
  readonly task: () => string | undefined;
  /** The task's last state; `undefined` for an answer without a task */
  readonly state: () => string | undefined;
  /** True if nothing more will come */
  readonly isOver: () => boolean;
  /** Returns the text of the artifacts, else of the last message, else their data as JSON, else the agent's latest earlier text */
  readonly text: () => string;
  readonly files: () => number;
  /** True if the answer is longer than budgie keeps */
  readonly isTruncated: () => boolean;
};

export type AnswerOptions = {
  /** Tell the text of messages and artifacts, the activity of a working agent, and the tokens of the last request to its model */
  readonly events: TurnEvents;
  /** Removes secrets from the answer, and from each piece of it as it arrives */
  readonly mask: Mask;
};

// Answers are truncated further on; this bounds the memory that a server can take.
const LONGEST_CHARACTERS = 4 * 1024 * 1024;
const MOST_ARTIFACTS = 1000;
const LONGEST_ACTIVITY = 200;
const ACTIVITY_EVERY_MS = 250;
const NOTHING: Content = { text: "", json: "", files: 0 };

const OVER = new Set(["auth-required", "canceled", "completed", "failed", "input-required", "rejected"]);

/** An artifact as received so far. */
type Artifact = {
  text: string;
  readonly json: string[];
  files: number;
  /** The length of its text and its JSON */
  length: number;
};

/** Creates the answer of a turn. */
export function createAnswer({ events, mask }: AnswerOptions): Answer {
  const artifacts = new Map<string, Artifact>();
  let used = 0;
  let [message, last, working] = [NOTHING, NOTHING, NOTHING];
  let [context, task, state]: (string | undefined)[] = [];
  let [isAnswered, isTruncated] = [false, false];
  let shownMs = Number.NEGATIVE_INFINITY;

  function tell(text: string): void {
    events.emit("output", Buffer.from(text), "stdout");
  }

  function show({ text }: Content): void {
    if (text === "") return;
    tell(`${mask(text)}\n`);
    if (performance.now() - shownMs < ACTIVITY_EVERY_MS) return;
    shownMs = performance.now();
    events.emit("activity", oneLine(mask(text), LONGEST_ACTIVITY));
  }

  function addArtifact({ id, isAppended, content }: Update["artifacts"][number]): void {
    let artifact = artifacts.get(id);
    const isFull = artifact === undefined && artifacts.size >= MOST_ARTIFACTS;
    isTruncated ||= isFull;
    if (isFull) return;
    if (artifact === undefined || !isAppended) {
      used -= artifact?.length ?? 0;
      artifact = { text: "", json: [], files: 0, length: 0 };
      artifacts.set(id, artifact);
    }
    const room = LONGEST_CHARACTERS - used;
    isTruncated ||= content.text.length + content.json.length > room;
    used += append(artifact, content, room);
    if (content.text !== "") tell(mask(content.text));
  }

  function addContent(content: Content): void {
    const isWorking = state === undefined || !OVER.has(state);
    if (isWorking) {
      message = NOTHING;
      working = content;
      show(content);
    } else message = content;
  }

  return {
    add(update) {
      // Only the first of a turn: a server could name a new one with each event, and each would be saved.
      context ??= update.context;
      task = update.task ?? task;
      state = update.state ?? state;
      if (update.content !== undefined) addContent(update.content);
      for (const artifact of update.artifacts) addArtifact(artifact);
      last = update.last ?? last;
      if (update.usage !== undefined) events.emit("usage", { basis: "request", ...update.usage });
      if (update.message === undefined) return;
      [isAnswered, message, state] = [true, update.message, undefined];
      tell(mask(message.text));
    },
    context: () => context,
    task: () => task,
    state: () => state,
    isOver: () => isAnswered || OVER.has(state ?? ""),
    text() {
      const all = [...artifacts.values()];
      const texts = [all.map(({ text }) => text), [message.text]];
      const data = [all.map(({ json }) => json.join("\n")), [message.json]];
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

/** Appends as much to an artifact as there is room for, and returns its length. Does not copy what came before. */
function append(artifact: Artifact, content: Content, room: number): number {
  const text = content.text.slice(0, room);
  const json = content.json.slice(0, room - text.length);
  artifact.text += text;
  if (json !== "") artifact.json.push(json);
  artifact.files += content.files;
  artifact.length += text.length + json.length;
  return text.length + json.length;
}
