import type { Readable, Transform } from "node:stream";
import { writeOrDrop } from "@budgie/sandbox/init";

const HEADER_BYTES = 8;

/**
 * Splits an attach stream into stdout and stderr, byte for byte, and ends both when it ends. docker-modem's demultiplexer
 * ignores back-pressure and overflows the stack on many small frames.
 */
export async function demultiplex(source: Readable, targets: Targets): Promise<void> {
  const { dropping, stderr, stdout } = targets;
  try {
    for await (const { stream, payload } of frames(source)) {
      await writeOrDrop(stream === 2 ? stderr : stdout, payload, dropping);
    }
  } catch {
    // A broken connection ends the output. The caller asks the engine how the container ended.
  } finally {
    stdout.end();
    stderr.end();
  }
}

export type Targets = {
  readonly stdout: Transform;
  readonly stderr: Transform;
  /** Once aborted, unread output is dropped: an engine does not stop a container whose output is blocked */
  readonly dropping: AbortSignal;
};

type Frame = { readonly stream: number; readonly payload: Buffer };

async function* frames(source: Readable): AsyncGenerator<Frame> {
  let held: Buffer[] = [];
  let heldBytes = 0;
  let header: { readonly stream: number; readonly length: number } | undefined;
  const take = (length: number): Buffer => {
    const all = held.length === 1 ? (held[0] ?? Buffer.alloc(0)) : Buffer.concat(held);
    held = [all.subarray(length)];
    heldBytes -= length;
    return all.subarray(0, length);
  };
  for await (const chunk of source as AsyncIterable<Buffer>) {
    held.push(chunk);
    heldBytes += chunk.length;
    while (heldBytes >= (header?.length ?? HEADER_BYTES)) {
      if (header === undefined) {
        const bytes = take(HEADER_BYTES);
        header = { stream: bytes.readUInt8(0), length: bytes.readUInt32BE(4) };
      } else {
        yield { stream: header.stream, payload: take(header.length) };
        header = undefined;
      }
    }
  }
}
