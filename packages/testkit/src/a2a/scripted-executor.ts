import { randomUUID } from "node:crypto";
import type { Message, Part, TaskState } from "@a2a-js/sdk";
import type { AgentExecutor, ExecutionEventBus, RequestContext } from "@a2a-js/sdk/server";

/** Creates the executor of a scripted agent. It remembers each conversation's prompts, and follows marks in them such as `[[fail]]`. */
export async function createScriptedExecutor(): Promise<AgentExecutor> {
  // Loaded late, since most tests need no A2A server.
  const { Role, TaskState: States } = await import("@a2a-js/sdk");
  const { AgentEvent } = await import("@a2a-js/sdk/server");
  const told = new Map<string, string[]>();
  const stops = new Map<string, AbortController>();

  function say({ bus, ids }: TaskChannel, state: TaskState, text?: string): void {
    const message: Message | undefined =
      text === undefined
        ? undefined
        : {
            ...ids,
            messageId: randomUUID(),
            role: Role.ROLE_AGENT,
            parts: [toPart(text)],
            metadata: undefined,
            extensions: [],
            referenceTaskIds: [],
          };
    const status = { state, message, timestamp: new Date().toISOString() };
    bus.publish(AgentEvent.statusUpdate({ ...ids, status, metadata: undefined }));
  }

  function show({ bus, ids }: TaskChannel, { append = false, id = "answer", parts }: Shown): void {
    const artifact = {
      artifactId: id,
      name: id,
      description: "",
      parts: [...parts],
      metadata: undefined,
      extensions: [],
    };
    bus.publish(AgentEvent.artifactUpdate({ ...ids, artifact, append, lastChunk: true, metadata: undefined }));
  }

  const ends: readonly (readonly [mark: string, state: TaskState, words: string])[] = [
    ["[[fail]]", States.TASK_STATE_FAILED, "No pods left"],
    ["[[reject]]", States.TASK_STATE_REJECTED, "Not for me"],
    ["[[login]]", States.TASK_STATE_AUTH_REQUIRED, "Log in to the cluster"],
    ["[[question]]", States.TASK_STATE_INPUT_REQUIRED, "Which cluster?"],
  ];

  function finish(place: TaskChannel, all: readonly string[]): void {
    const text = all.at(-1) ?? "";
    const end = ends.find(([mark]) => text.includes(mark));
    if (end !== undefined) return say(place, end[1], end[2]);
    if (text.includes("[[data]]")) show(place, { parts: [toDataPart({ pods: 3 })] });
    else if (text.includes("[[paint]]")) show(place, { parts: [toPart("\u001B[31mred\u0007\u009B0m")] });
    else if (text.includes("[[pieces]]")) {
      show(place, { parts: [toPart("one ")] });
      show(place, { parts: [toPart("two")], append: true });
      show(place, { id: "second", parts: [toPart("three")] });
    } else if (!text.includes("[[nothing]]")) show(place, { parts: [toPart(`told: ${all.join(" | ")}`)] });
    say(place, States.TASK_STATE_COMPLETED);
  }

  return {
    async execute(request: RequestContext, bus: ExecutionEventBus) {
      const { contextId, task, taskId, userMessage } = request;
      const ids = { contextId, taskId };
      const text = toText(userMessage);
      const all = [...(told.get(contextId) ?? []), text];
      told.set(contextId, all);
      const stop = new AbortController();
      stops.set(taskId, stop);
      const status = { state: States.TASK_STATE_SUBMITTED, message: undefined, timestamp: new Date().toISOString() };
      const begun = { id: taskId, contextId, status, artifacts: [], history: [userMessage], metadata: undefined };
      bus.publish(AgentEvent.task(task ?? begun));
      const place = { bus, ids };
      say(place, States.TASK_STATE_WORKING, text.includes("[[nothing]]") ? undefined : "Thinking");
      if (text.includes("[[wait]]")) {
        show(place, { parts: [toPart("Working.")] });
        await new Promise((resolve) => stop.signal.addEventListener("abort", resolve));
      }
      if (stop.signal.aborted) say(place, States.TASK_STATE_CANCELED);
      else finish(place, all);
      stops.delete(taskId);
      bus.finished();
    },
    async cancelTask(taskId) {
      stops.get(taskId)?.abort();
    },
  };
}

type Ids = { readonly contextId: string; readonly taskId: string };

type TaskChannel = { readonly bus: ExecutionEventBus; readonly ids: Ids };

type Shown = { readonly id?: string; readonly parts: readonly Part[]; readonly append?: boolean };

function toPart(text: string): Part {
  return { content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "text/plain" };
}

function toDataPart(value: unknown): Part {
  return { content: { $case: "data", value }, metadata: undefined, filename: "", mediaType: "application/json" };
}

function toText({ parts }: Message): string {
  return parts.map(({ content }) => (content?.$case === "text" ? content.value : "")).join("");
}
