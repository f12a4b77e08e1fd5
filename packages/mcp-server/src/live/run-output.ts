import { StringDecoder } from "node:string_decoder";
import { createTail, type TurnHooks } from "@budgie/core";

/** The output of an agent, as far as it is kept. */
export type RunOutput = {
  readonly add: NonNullable<TurnHooks["onOutput"]>;
  /** Returns the end of the output, with a line for what is no longer kept */
  readonly text: () => string;
  /** Calls `onText` with all further output. Returns a function that ends this. */
  readonly follow: (onText: (text: string) => void) => () => void;
};

// A run's output is kept in memory for as long as it runs.
const KEPT_BYTES = 256 * 1024;

/** Creates the output of a run, without any. */
export function createRunOutput(): RunOutput {
  const decoders = { stdout: new StringDecoder("utf8"), stderr: new StringDecoder("utf8") };
  const followers = new Set<(text: string) => void>();
  // Bytes, since texts of a gigabyte of output would grow the heap.
  const tail = createTail(KEPT_BYTES);
  let bytes = 0;

  return {
    add(chunk, stream) {
      tail.add(chunk);
      bytes += chunk.length;
      if (followers.size === 0) return;
      const text = decoders[stream].write(chunk);
      if (text === "") return;
      for (const onText of followers) onText(text);
    },
    text() {
      const kept = Buffer.concat(tail.chunks()).toString("utf8");
      const dropped = bytes - tail.bytes();
      return dropped === 0 ? kept : `[budgie: ${dropped} bytes before this are not kept]\n${kept}`;
    },
    follow(onText) {
      followers.add(onText);
      return () => void followers.delete(onText);
    },
  };
}
