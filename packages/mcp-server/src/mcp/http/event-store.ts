import type { EventStore } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/sdk/types.js";
import type { HttpLimits } from "./http-limits.ts";

/** One SSE stream of a session, which may span several connections. */
export type StoredStream = {
  readonly id: string;
  /** `true` if every request of the stream was answered or cancelled */
  isEnded: boolean;
};

type StoredEvent = {
  readonly number: number;
  readonly streamId: string;
  message: JSONRPCMessage;
  bytes: number;
  /** `false` if an error has replaced the message that was sent */
  isWhole: boolean;
};

/** A bounded store of the events that a session has sent. */
export type BoundedEventStore = EventStore & {
  /** Returns `undefined` for an unknown or forgotten stream. */
  readonly stream: (id: string) => StoredStream | undefined;
  /** Returns the stream of an event, and the events of that stream after it; `undefined` for an unknown or forgotten one. */
  readonly since: (eventId: string) => Since | undefined;
};

type Since = {
  readonly stream: StoredStream;
  readonly events: readonly { readonly id: string; readonly message: JSONRPCMessage }[];
  /** `false` if one of the answers was replaced by an error to make room */
  readonly isWhole: boolean;
};

/**
 * Creates a store that keeps the newest events. An answer that does not fit, or that must make room, is replaced by an
 * error, so that a resuming client does not wait for an answer that never comes.
 */
export function createEventStore(limits: Pick<HttpLimits, "eventBytes" | "events">): BoundedEventStore {
  const streams = new Map<string, StoredStream>();
  // In ascending order of number
  const events = new Map<number, StoredEvent>();
  let last = 0;
  let bytes = 0;

  function enter(id: string): void {
    if (streams.has(id)) return;
    streams.set(id, { id, isEnded: false });
    if (streams.size <= limits.events) return;
    const oldest = [...streams.values()].find(({ isEnded }) => isEnded);
    if (oldest !== undefined) streams.delete(oldest.id);
  }

  function add(event: StoredEvent): void {
    events.set(event.number, event);
    bytes += event.bytes;
    for (const old of events.values()) {
      if (bytes <= limits.eventBytes) break;
      empty(old);
    }
    for (const old of events.values()) {
      if (events.size <= limits.events) break;
      remove(old);
    }
  }

  function empty(event: StoredEvent): void {
    const { message } = event;
    if ("method" in message) return remove(event);
    const notKept = notKeptMessage(message.id);
    const size = countBytes(notKept);
    // A message no larger than the error stays until there are too many events.
    if (event.bytes <= size) return;
    bytes -= event.bytes - size;
    Object.assign(event, { message: notKept, bytes: size, isWhole: false });
  }

  function remove({ bytes: size, number }: StoredEvent): void {
    if (events.delete(number)) bytes -= size;
  }

  function since(eventId: string): Since | undefined {
    const { number, streamId } = parseEventId(eventId);
    const stream = streams.get(streamId);
    if (stream === undefined || number > last) return undefined;
    const later = [...events.values()].filter((event) => event.streamId === streamId && event.number > number);
    return {
      stream,
      events: later.map((event) => ({ id: toEventId(event), message: event.message })),
      isWhole: later.every(({ isWhole }) => isWhole),
    };
  }

  return {
    async storeEvent(streamId, message) {
      enter(streamId);
      const number = ++last;
      // A stream's first event is empty; it only carries an id to resume from.
      if (Object.keys(message).length > 0) {
        add({ number, streamId, message, bytes: countBytes(message), isWhole: true });
      }
      return toEventId({ number, streamId });
    },
    async replayEventsAfter(lastEventId, { send }) {
      // Sent synchronously: an event stored between replay and live delivery would be lost.
      for (const { id, message } of since(lastEventId)?.events ?? []) void send(id, message);
      return parseEventId(lastEventId).streamId;
    },
    stream: (id) => streams.get(id),
    since,
  };
}

// In the range that JSON-RPC reserves for server errors
const NOT_KEPT = -32_050;
const NOT_KEPT_TEXT =
  "This answer was sent while the connection was broken, and is no longer kept: it was too large, or too much followed " +
  'it. The next call on its session brings it along, and "budgie runs ls" and "budgie runs show" find it.';

// The number comes first, because the SDK's stream ids contain "_".
const EVENT_ID = /^(\d{1,15})_(.+)$/s;

function toEventId({ number, streamId }: Pick<StoredEvent, "number" | "streamId">): string {
  return `${number}_${streamId}`;
}

function parseEventId(eventId: string): Pick<StoredEvent, "number" | "streamId"> {
  const [, number, streamId = ""] = EVENT_ID.exec(eventId) ?? [];
  return { number: Number(number ?? Number.NaN), streamId };
}

function notKeptMessage(id: RequestId | undefined): JSONRPCMessage {
  return { jsonrpc: "2.0", ...(id === undefined ? {} : { id }), error: { code: NOT_KEPT, message: NOT_KEPT_TEXT } };
}

function countBytes(message: JSONRPCMessage): number {
  return Buffer.byteLength(JSON.stringify(message));
}
