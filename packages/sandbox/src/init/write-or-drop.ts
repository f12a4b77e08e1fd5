import { once } from "node:events";
import type { Transform } from "node:stream";

/**
 * Writes a piece of a process's output, and waits until its reader takes more. What no reader takes is dropped once `dropping` aborts, or the
 * reader is gone: it must block neither other output nor the process.
 */
export async function writeOrDrop(target: Transform, piece: Buffer, dropping: AbortSignal): Promise<void> {
  if (target.destroyed || (dropping.aborted && target.writableNeedDrain)) return;
  if (!target.write(piece) && !dropping.aborted) await drained(target, dropping);
}

/** Resolves when a stream accepts more data, is closed, or its data is to be dropped. */
async function drained(target: Transform, dropping: AbortSignal): Promise<void> {
  const stop = new AbortController();
  const until = (source: Transform | AbortSignal, event: string): Promise<unknown> =>
    once(source as Transform, event, { signal: stop.signal }).catch(() => undefined);
  await Promise.race([until(target, "drain"), until(target, "close"), until(dropping, "abort")]);
  stop.abort();
}
