import { setTimeout as sleep } from "node:timers/promises";
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import { LIMITS } from "../bounds/limits.ts";
import { createRate, type Rate } from "../bounds/rate.ts";
import { isReachable } from "../config/safe-url.ts";

export type BoundedFetchOptions = {
  readonly url: string;
  /** Sends the requests, and follows no redirects; default Node's `fetch` */
  readonly fetch?: FetchLike | undefined;
  /** Headers for requests to the server's own origin */
  readonly headers: Readonly<Record<string, string>>;
  /** The timeout until a response begins, in milliseconds */
  readonly timeoutMs: number;
  /** Called for a message beyond the size limit; the SDK would only see the stream end */
  readonly onTooLarge: (error: Error) => void;
};

/** Creates a `fetch` that limits the size of responses, their rate and the time until they begin, and that refuses unsafe addresses. */
export function createBoundedFetch(options: BoundedFetchOptions): FetchLike {
  const { fetch: send = fetch, headers, onTooLarge, timeoutMs, url } = options;
  const { origin } = new URL(url);
  const bytes = createRate(LIMITS.bytes);
  const messages = createRate(LIMITS.messages);
  const streams = createRate(LIMITS.streams);
  return async (to, init = {}) => {
    const target = new URL(to);
    if (!isReachable(target.href, url))
      throw new Error("it leads to an address without encryption, or of this machine");
    const all = new Headers(init.headers);
    if (target.origin === origin) for (const [name, value] of Object.entries(headers)) all.set(name, value);
    const isStream = all.get("accept") === "text/event-stream";
    const waitMs = isStream ? streams.take() : 0;
    if (waitMs > 0) await sleep(waitMs, undefined, init.signal ? { signal: init.signal } : {});
    const timer = new AbortController();
    const limit = setTimeout(() => timer.abort(new Error("it does not answer")), timeoutMs);
    try {
      const signal = init.signal ? AbortSignal.any([init.signal, timer.signal]) : timer.signal;
      const response = await send(target, { ...init, headers: all, redirect: "manual", signal });
      return toBounded(response, { bytes, messages, onTooLarge });
    } finally {
      clearTimeout(limit);
    }
  };
}

/** Returns a response whose body fails if a message, or an event of a stream, exceeds the size limit. */
function toBounded(
  response: Response,
  {
    bytes,
    messages,
    onTooLarge,
  }: Readonly<Record<"bytes" | "messages", Rate>> & Pick<BoundedFetchOptions, "onTooLarge">,
): Response {
  if (response.body === null) return response;
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  let length = 0;
  let last = "";
  const bounded = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      async transform(chunk, controller) {
        const ends = isStream ? findEnds(last, chunk) : [];
        last = `${last}${toText(chunk.subarray(-2))}`.slice(-2);
        const end = ends.at(-1);
        length = end === undefined ? length + chunk.length : chunk.length - end;
        if (length > LIMITS.messageBytes) {
          const error = new Error(`it sent a message of more than ${LIMITS.messageBytes} bytes`);
          onTooLarge(error);
          throw error;
        }
        controller.enqueue(chunk);
        const waitMs = Math.max(bytes.take(chunk.length), messages.take(ends.length));
        if (waitMs >= 1) await sleep(waitMs);
      },
    }),
  );
  const { headers, status, statusText } = response;
  return Object.defineProperty(new Response(bounded, { headers, status, statusText }), "url", { value: response.url });
}

/** Returns the offsets in a chunk at which events end: after an empty line, which may begin in the two bytes before the chunk. */
function findEnds(last: string, chunk: Uint8Array): readonly number[] {
  const ends = [...`${last}${toText(chunk)}`.matchAll(/\n\r?\n|\r\r/g)].map(
    ({ 0: line, index }) => index + line.length - last.length,
  );
  return ends.filter((end) => end > 0);
}

function toText(chunk: Uint8Array): string {
  return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length).toString("latin1");
}
