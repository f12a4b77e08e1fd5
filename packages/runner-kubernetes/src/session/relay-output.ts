import { once } from "node:events";
import { PassThrough, type Readable } from "node:stream";

/**
 * Returns a stream with the output of a process. Once `dropping` aborts, what nobody reads is dropped: its end comes after it. A connection that
 * breaks ends the output, since the exit of the process says why.
 */
export function relayOutput(source: Readable, dropping: AbortSignal): Readable {
  const target = new PassThrough();
  void relay(source, target, dropping)
    .catch(() => undefined)
    .then(() => target.end());
  return target;
}

async function relay(source: Readable, target: PassThrough, dropping: AbortSignal): Promise<void> {
  for await (const piece of source as AsyncIterable<Buffer>) {
    // A reader that is gone must not block the process.
    if (target.destroyed || (dropping.aborted && target.writableNeedDrain)) continue;
    if (!target.write(piece) && !dropping.aborted) await untilDrained(target, dropping);
  }
}

async function untilDrained(target: PassThrough, dropping: AbortSignal): Promise<void> {
  const over = new AbortController();
  const { signal } = over;
  const events = [
    once(target, "drain", { signal }),
    once(target, "close", { signal }),
    once(dropping, "abort", { signal }),
  ];
  await Promise.race(events).catch(() => undefined);
  for (const event of events) event.catch(() => undefined);
  over.abort();
}
