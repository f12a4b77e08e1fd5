import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import { createJsonScan, createRate, JSON_BOUNDS, type Rate } from "@budgie/core/bounds";
import { LIMITS } from "../bounds/limits.ts";
import { isReachable } from "../config/is-safe-url.ts";

export type BoundedFetchOptions = {
  readonly url: string;
  /** Sends the requests, and follows no redirects; default Node's `fetch` */
  readonly fetch?: FetchLike | undefined;
  /** Headers for requests to the server's own origin */
  readonly headers: Readonly<Record<string, string>>;
  /** The timeout until a response begins, in milliseconds */
  readonly timeoutMs: number;
  /** Called for a message that is too large, or has too many values; the SDK would only see the stream end */
  readonly onTooLarge: (error: Error) => void;
};

/** Creates a `fetch` that limits the size and the values of responses, their rate and the time until they begin, and that refuses unsafe addresses. */
export function createBoundedFetch(options: BoundedFetchOptions): FetchLike {
  const { fetch: send = fetch, headers, onTooLarge, timeoutMs, url } = options;
  const { origin } = new URL(url);
  const rates = {
    bytes: createRate(LIMITS.bytes),
    messages: createRate(LIMITS.messages),
    values: createRate(LIMITS.values),
  };
  const streams = createRate(LIMITS.streams);
  return async (to, init = {}) => {
    const target = new URL(to);
    if (!isReachable(target.href, url))
      throw new Error("it leads to an address without encryption, or of this machine");
    const all = new Headers(init.headers);
    if (target.origin === origin) for (const [name, value] of Object.entries(headers)) all.set(name, value);
    const accepted = all.get("accept");
    const waitMs = accepted === EVENT_STREAM ? streams.take() : 0;
    if (waitMs > 0) await sleep(waitMs, undefined, init.signal ? { signal: init.signal } : {});
    const timer = new AbortController();
    const limit = setTimeout(() => timer.abort(new Error("it does not answer")), timeoutMs);
    try {
      const signal = init.signal ? AbortSignal.any([init.signal, timer.signal]) : timer.signal;
      const response = await send(target, { ...init, headers: all, redirect: "manual", signal });
      return bound(response, { isStream: isEventStream(response, accepted), rates, onTooLarge });
    } finally {
      clearTimeout(limit);
    }
  };
}

const EVENT_STREAM = "text/event-stream";

/** Tells whether the SDK reads a response event by event; it parses any other whole, whatever the server calls it. */
function isEventStream({ headers, ok }: Response, accepted: string | null): boolean {
  const type = headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  return ok && type === EVENT_STREAM && accepted?.includes(EVENT_STREAM) === true;
}

type Bounding = Pick<BoundedFetchOptions, "onTooLarge"> & {
  readonly isStream: boolean;
  readonly rates: Readonly<Record<"bytes" | "messages" | "values", Rate>>;
};

// The SDK handles all events of a piece at once.
const EVENTS_AT_ONCE = 50;

/** Returns a response whose body fails if a message, or an event of a stream, exceeds a bound: the SDK parses and checks it whole. */
function bound(response: Response, { isStream, onTooLarge, rates }: Bounding): Response {
  if (response.body === null) return response;
  const guard = createGuard();
  let last = "";
  const bounded = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      async transform(chunk, controller) {
        const ends = isStream ? findEnds(last, chunk) : [];
        last = `${last}${decodeText(chunk.subarray(-2))}`.slice(-2);
        const { excess, values } = guard(chunk, ends);
        if (excess !== undefined) {
          const error = new Error(`it sent a message of ${excess}`);
          onTooLarge(error);
          throw error;
        }
        for (const piece of cut(chunk, ends)) {
          controller.enqueue(piece);
          if (piece.length < chunk.length) await nextTurn();
        }
        const { bytes, messages } = rates;
        const waitMs = Math.max(bytes.take(chunk.length), messages.take(ends.length), rates.values.take(values));
        if (waitMs >= 1) await sleep(waitMs);
      },
    }),
  );
  const { headers, status, statusText } = response;
  return Object.defineProperty(new Response(bounded, { headers, status, statusText }), "url", { value: response.url });
}

type Guarded = { readonly values: number; readonly excess?: string };

/** Creates a function that counts the values in a chunk with these ends of messages, and tells which bound a message exceeds. */
function createGuard(): (chunk: Uint8Array, ends: readonly number[]) => Guarded {
  let scan = createJsonScan(JSON_BOUNDS);
  let length = 0;
  return (chunk, ends) => {
    let [start, values] = [0, 0];
    const add = (end: number): void => {
      length += end - start;
      if (length > LIMITS.messageBytes) throw new RangeError(`more than ${LIMITS.messageBytes} bytes`);
      values += scan(chunk.subarray(start, end));
      start = end;
    };
    try {
      for (const end of ends) {
        add(end);
        [scan, length] = [createJsonScan(JSON_BOUNDS), 0];
      }
      add(chunk.length);
      return { values };
    } catch (error) {
      return { values, excess: (error as RangeError).message };
    }
  };
}

/** Cuts a chunk after every 50 events. */
function cut(chunk: Uint8Array, ends: readonly number[]): readonly Uint8Array[] {
  const cuts = ends.filter((_, index) => (index + 1) % EVENTS_AT_ONCE === 0);
  const pieces = [...cuts, chunk.length].map((end, index) => chunk.subarray(cuts[index - 1] ?? 0, end));
  return pieces.filter(({ length }) => length > 0);
}

// A line ends with each of the three, in any mixture.
const EMPTY_LINE = /(?:\r\n|\n|\r(?!\n)){2}/g;

/** Returns the offsets in a chunk at which events end: after an empty line, which may begin in the two bytes before the chunk. */
function findEnds(last: string, chunk: Uint8Array): readonly number[] {
  const ends = [...`${last}${decodeText(chunk)}`.matchAll(EMPTY_LINE)].map(
    ({ 0: line, index }) => index + line.length - last.length,
  );
  return ends.filter((end) => end > 0);
}

function decodeText(chunk: Uint8Array): string {
  return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length).toString("latin1");
}
