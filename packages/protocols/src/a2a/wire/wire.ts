import { randomUUID } from "node:crypto";
import type { TokenFigures } from "@budgie/core/runs";
import { toEntries, toFields, parseText, type Fields } from "../http/fields.ts";
import { toContent, type Content } from "./content.ts";
import { findUsage } from "./find-usage.ts";

/** The versions of A2A that budgie speaks, as the header `A2A-Version` has them. */
export type WireVersion = "0.3" | "1.0";

/** The method names and message shapes of a version. */
export type Wire = {
  readonly version: WireVersion;
  readonly methods: { readonly [Name in "cancel" | "get" | "send" | "stream"]: string };
  /** Returns the parameters of `send` and `stream`. */
  readonly toMessage: (message: OwnMessage) => Fields;
};

export type OwnMessage = {
  readonly prompt: string;
  /** The conversation to continue; `undefined` begins one */
  readonly context: string | undefined;
  /** The task that waits for this prompt */
  readonly task: string | undefined;
  /** True to be answered once the task exists, not when it ends */
  readonly isImmediate: boolean;
};

/** The limit of a task's history, of which only the agent's last message is read. */
export const HISTORY = { historyLength: 2 } as const;

const WIRES: Readonly<Record<WireVersion, Wire>> = {
  "0.3": {
    version: "0.3",
    methods: { send: "message/send", stream: "message/stream", get: "tasks/get", cancel: "tasks/cancel" },
    toMessage: ({ context, isImmediate, prompt, task }) => ({
      message: {
        kind: "message",
        messageId: randomUUID(),
        role: "user",
        parts: [{ kind: "text", text: prompt }],
        ...toIds(context, task),
      },
      ...(isImmediate ? { configuration: { blocking: false, ...HISTORY } } : {}),
    }),
  },
  "1.0": {
    version: "1.0",
    methods: { send: "SendMessage", stream: "SendStreamingMessage", get: "GetTask", cancel: "CancelTask" },
    toMessage: ({ context, isImmediate, prompt, task }) => ({
      message: { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: prompt }], ...toIds(context, task) },
      ...(isImmediate ? { configuration: { returnImmediately: true, ...HISTORY } } : {}),
    }),
  },
};

/** Returns the method names and message shapes of a version. */
export function wireOf(version: WireVersion): Wire {
  return WIRES[version];
}

function toIds(contextId: string | undefined, taskId: string | undefined): Fields {
  return { ...(contextId === undefined ? {} : { contextId }), ...(taskId === undefined ? {} : { taskId }) };
}

/** An update of a task, in the same form for every version. */
export type Update = {
  readonly task: string | undefined;
  readonly context: string | undefined;
  /** An answer without a task */
  readonly message: Content | undefined;
  /** The task's state in the words of 0.3, such as `input-required` */
  readonly state: string | undefined;
  /** The words that came with the state */
  readonly content: Content | undefined;
  readonly artifacts: readonly ArtifactUpdate[];
  /** The agent's last message in the task's history */
  readonly last: Content | undefined;
  /** The tokens of one request to the agent's model */
  readonly usage: TokenFigures | undefined;
};

type ArtifactUpdate = { readonly id: string; readonly isAppended: boolean; readonly content: Content };

const LONGEST_ID = 1000;
const MOST_ARTIFACTS = 1000;
const MOST_MESSAGES = 100;

// A map, since a server may name what every object has, such as `constructor`.
const KINDS: ReadonlyMap<unknown, string> = new Map([
  ["task", "task"],
  ["message", "message"],
  ["status-update", "statusUpdate"],
  ["artifact-update", "artifactUpdate"],
]);

/** Reads the result of a call, or an event of a stream. */
export function toUpdate(result: unknown): Update {
  const [kind, body] = toBody(toFields(result));
  const status = toFields(body["status"]);
  const isMessage = kind === "message";
  return {
    task: parseText(body[kind === "task" ? "id" : "taskId"], LONGEST_ID),
    context: parseText(body["contextId"], LONGEST_ID),
    message: isMessage ? toContent(body["parts"]) : undefined,
    state: isMessage ? undefined : toState(status["state"]),
    content: status["message"] === undefined ? undefined : toContent(toFields(status["message"])["parts"]),
    artifacts: toArtifacts(kind, body),
    last: findLast(body["history"]),
    usage: findUsage(body["metadata"], toFields(status["message"])["metadata"]),
  };
}

/** Returns the kind and the content: 0.3 names the kind in a field, 1.0 wraps the content, and the answer to `get` is a task alone. */
function toBody(result: Fields): readonly [kind: string, body: Fields] {
  const kind = KINDS.get(result["kind"]);
  if (kind !== undefined) return [kind, result];
  const wrapped = [...KINDS.values()].find((name) => result[name] !== undefined);
  return wrapped === undefined ? ["task", result] : [wrapped, toFields(result[wrapped])];
}

function toState(state: unknown): string | undefined {
  const text = parseText(state, LONGEST_ID);
  return text
    ?.replace(/^TASK_STATE_/, "")
    .toLowerCase()
    .replaceAll("_", "-");
}

function toArtifacts(kind: string, body: Fields): readonly ArtifactUpdate[] {
  const isAppended = body["append"] === true;
  const all = kind === "artifactUpdate" ? [toFields(body["artifact"])] : toEntries(body["artifacts"], MOST_ARTIFACTS);
  return all.map(({ artifactId, parts }) => ({
    id: parseText(artifactId, LONGEST_ID) ?? "",
    isAppended,
    content: toContent(parts),
  }));
}

function findLast(history: unknown): Content | undefined {
  const messages = Array.isArray(history) ? history.slice(-MOST_MESSAGES).map(toFields) : [];
  const last = messages.findLast(({ role }) => role === "agent" || role === "ROLE_AGENT");
  return last === undefined ? undefined : toContent(last["parts"]);
}
