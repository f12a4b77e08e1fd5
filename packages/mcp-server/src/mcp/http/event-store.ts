import type { EventStore } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/sdk/types.js";
import type { HttpLimits } from "./http-limits.ts";

/** One SSE stream of a session, over however many connections. */
export type StoredStream = {
  readonly id: string;
  /** Whether all that was asked on it has its answer, or was cancelled */
  isEnded: boolean;
};

type StoredEvent = {
  readonly number: number;
  readonly streamId: string;
  message: JSONRPCMessage;
  bytes: number;
  /** Whether the message is still the one that was sent */
  isWhole: boolean;
};

/** What a session has sent, as far as it is kept. */
export type BoundedEventStore = EventStore & {
  /** `undefined` of a stream that there never was, or that is forgotten */
  readonly stream: (id: string) => StoredStream | undefined;
  /** The stream that the client saw this event of, and what came there after it; `undefined` as above */
  readonly since: (eventId: string) => Since | undefined;
};

type Since = {
  readonly stream: StoredStream;
  readonly events: readonly { readonly id: string; readonly message: JSONRPCMessage }[];
  /** Whether no answer among them had to make room */
  readonly isWhole: boolean;
};

/**
 * Creates a store that keeps the newest events. An answer that does not fit, or that has to make room, leaves an error
 * in its place: who asks for it is told, instead of waiting for what never comes.
 */
export function createEventStore(limits: Pick<HttpLimits, "eventBytes" | "events">): BoundedEventStore {
  const streams = new Map<string, StoredStream>();
  // In the order of their numbers.
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
    const notKept = toNotKept(message.id);
    const size = toBytes(notKept);
    // What is no larger than that stays until there are too many.
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
      // A stream's first event is empty: it only tells the client where to begin.
      if (Object.keys(message).length > 0) {
        add({ number, streamId, message, bytes: toBytes(message), isWhole: true });
      }
      return toEventId({ number, streamId });
    },
    async replayEventsAfter(lastEventId, { send }) {
      // In one go, and the SDK goes on in the next: what came in between would be in neither what it replays nor what it sends.
      for (const { id, message } of since(lastEventId)?.events ?? []) void send(id, message);
      return parseEventId(lastEventId).streamId;
    },
    stream: (id) => streams.get(id),
    since,
  };
}

// Of those that JSON-RPC leaves to servers.
const NOT_KEPT = -32_050;
const NOT_KEPT_TEXT =
  "This answer came while the connection was broken, and is no longer kept: it was too large, or too much came after " +
  'it. The next call on its session brings it along, and "budgie runs ls" and "budgie runs show" find it.';

// The number first: the SDK's own name for a stream has "_" in it.
const EVENT_ID = /^(\d{1,15})_(.+)$/s;

function toEventId({ number, streamId }: Pick<StoredEvent, "number" | "streamId">): string {
  return `${number}_${streamId}`;
}

function parseEventId(eventId: string): Pick<StoredEvent, "number" | "streamId"> {
  const [, number, streamId = ""] = EVENT_ID.exec(eventId) ?? [];
  return { number: Number(number ?? Number.NaN), streamId };
}

function toNotKept(id: RequestId | undefined): JSONRPCMessage {
  return { jsonrpc: "2.0", ...(id === undefined ? {} : { id }), error: { code: NOT_KEPT, message: NOT_KEPT_TEXT } };
}

function toBytes(message: JSONRPCMessage): number {
  return Buffer.byteLength(JSON.stringify(message));
}
