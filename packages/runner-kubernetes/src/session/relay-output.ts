import { PassThrough, type Readable } from "node:stream";
import { writeOrDrop } from "@budgie/sandbox/init";

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
  for await (const piece of source as AsyncIterable<Buffer>) await writeOrDrop(target, piece, dropping);
}
