import { setImmediate as nextTask, setTimeout as sleep } from "node:timers/promises";
import { Writable, type Readable } from "node:stream";
import { BudgieError } from "@budgie/core";
import { createRate, parseCountedJson } from "@budgie/core/bounds";
import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import { findRefusalNotice } from "../kiro/find-refusal-notice.ts";
import { toPlainRequest } from "./to-plain-request.ts";

export type MessageStreamOptions = {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Called with the unchecked parameters of each `session/update`, and of Kiro's report of its cost in the same form */
  readonly onUpdate: (params: unknown) => void;
  /** Called with a line about each notification that Kiro did not take its agent */
  readonly onRefusal: (reason: string) => void;
  /** Called with the number of bytes of each piece of output */
  readonly onBytes: (bytes: number) => void;
};

// Codex sends the output of a tool in updates of up to 2.4 MB.
const LARGEST_MESSAGE_BYTES = 4 * 1024 * 1024;
// The answers to more requests would wait in memory for an agent that does not read them.
const MOST_OPEN_REQUESTS = 16;

// Some hundred long answers a second
const VALUES = { perSecond: 100_000, burst: 200_000 };

/**
 * Creates the stream of messages between an agent and the SDK, one JSON object a line. Ignores lines that are not messages, such as a
 * banner, notifications other than updates and refusals, and answers without a request: the SDK would log them with the agent's own words. Passes
 * only the needed parts of the agent's requests, and at most 16 unanswered ones: the SDK would queue and check any number of any size.
 */
export function createMessageStream({ onBytes, onRefusal, onUpdate, stdin, stdout }: MessageStreamOptions): Stream {
  const lines = readLines(stdout, onBytes);
  const asked = new Set<unknown>();
  const open = createOpenRequests();
  const values = createRate(VALUES);
  const output: WritableStream<Uint8Array> = Writable.toWeb(stdin);
  const writer = output.getWriter();

  /** Returns the message if the SDK should get it. */
  function take(message: Readonly<Record<string, unknown>>): AnyMessage | undefined {
    if (!("method" in message)) return asked.delete(message["id"]) ? (message as AnyMessage) : undefined;
    if ("id" in message) return toPlainRequest(message);
    if (message["method"] === "session/update") onUpdate(message["params"]);
    if (message["method"] === KIRO_METADATA) onUpdate(toUsageUpdate(message["params"]));
    const refusal = findRefusalNotice(message["method"], message["params"]);
    if (refusal !== undefined) onRefusal(refusal);
    return undefined;
  }

  return {
    readable: new ReadableStream<AnyMessage>({
      async pull(controller) {
        for (;;) {
          await open.hasRoom();
          const { done, value } = await lines.next();
          if (done === true) return controller.close();
          const message = parseMessage(value);
          const waitMs = values.take(message.values);
          if (waitMs >= 1) await sleep(waitMs);
          const taken = message.fields === undefined ? undefined : take(message.fields);
          if (taken === undefined) continue;
          if ("method" in taken) open.add();
          return controller.enqueue(taken);
        }
      },
      async cancel() {
        open.close();
        await lines.return(undefined);
      },
    }),
    writable: new WritableStream<AnyMessage>({
      async write(message) {
        const isRequest = "method" in message;
        if ("id" in message && isRequest) asked.add(message.id);
        await writer.write(Buffer.from(`${JSON.stringify(message)}\n`));
        if (!isRequest) open.remove();
      },
    }),
  };
}

/** Counts the agent's requests that have no answer yet. */
function createOpenRequests() {
  let [count, isClosed] = [0, false];
  let tell: () => void = () => undefined;
  return {
    add: () => void count++,
    remove() {
      count--;
      tell();
    },
    close() {
      isClosed = true;
      tell();
    },
    async hasRoom(): Promise<void> {
      while (count >= MOST_OPEN_REQUESTS && !isClosed) await new Promise<void>((resolve) => (tell = resolve));
    },
  };
}

// The notification in which Kiro reports the cost of a turn.
const KIRO_METADATA = "_kiro.dev/metadata";

/** Returns the parameters of Kiro's notification in the form of a `session/update`. */
function toUsageUpdate(params: unknown): unknown {
  const { meteringUsage, sessionId } = (params ?? {}) as Readonly<Record<string, unknown>>;
  return { sessionId, update: { sessionUpdate: "usage_update", meteringUsage } };
}

// Other turns must not wait for an agent that prints without end.
const LONGEST_TASK_MS = 5;

/** Yields the lines of a stream, without line feeds. Throws `AGENT_FAILED` for a line of more than 4 MiB. */
async function* readLines(stream: Readable, onBytes: (bytes: number) => void): AsyncGenerator<Buffer, undefined> {
  let pieces: Buffer[] = [];
  let bytes = 0;
  let sinceMs = performance.now();
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    let start = 0;
    onBytes(chunk.length);
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
      yield Buffer.concat([...pieces, chunk.subarray(start, end)]);
      [pieces, bytes, start] = [[], 0, end + 1];
      if (performance.now() - sinceMs > LONGEST_TASK_MS) {
        await nextTask();
        sinceMs = performance.now();
      }
    }
    bytes += chunk.length - start;
    if (bytes > LARGEST_MESSAGE_BYTES) {
      throw tooLarge(`more than ${LARGEST_MESSAGE_BYTES / 2 ** 20} MiB`);
    }
    // A copy, since a few bytes would keep the whole chunk in memory.
    if (start < chunk.length) pieces.push(Buffer.from(chunk.subarray(start)));
    if (pieces.length >= 1024) pieces = [Buffer.concat(pieces)];
  }
  return undefined;
}

const OPENING_BRACE = 0x7b;

type Message = { readonly fields?: Readonly<Record<string, unknown>>; readonly values: number };

/** Parses a message; without fields if it is none. Throws `AGENT_FAILED` for one of too many values. */
function parseMessage(line: Buffer): Message {
  // Parsing what cannot be a message is slow.
  if (line[0] !== OPENING_BRACE) return NO_MESSAGE;
  try {
    const { value, values } = parseCountedJson(line);
    return { fields: value as Message["fields"] & object, values };
  } catch (error) {
    if (error instanceof RangeError) throw tooLarge(error.message);
    return NO_MESSAGE;
  }
}

const NO_MESSAGE: Message = { values: 0 };

function tooLarge(excess: string): BudgieError {
  return new BudgieError(
    "AGENT_FAILED",
    `The agent sent a message of ${excess}, and its turn was ended. Give it a smaller task.`,
  );
}
