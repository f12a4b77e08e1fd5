import { StringDecoder } from "node:string_decoder";
import { createTail, TRANSCRIPT_BYTES } from "../protocol/bounded-output.ts";

/** The output of an agent, as far as it is kept. */
export type RunOutput = {
  readonly add: (chunk: Buffer, stream: "stderr" | "stdout") => void;
  /** Returns the end of the output, after a line that counts the discarded bytes */
  readonly text: () => string;
  /** Calls `onText` with all further output. Returns a function that ends this. */
  readonly follow: (onText: (text: string) => void) => () => void;
};

/** Creates the output of a run, which is empty at first. */
export function createRunOutput(): RunOutput {
  const followers = new Set<RunOutput["add"]>();
  // Bytes, since strings of a gigabyte of output would grow the heap.
  const tail = createTail(TRANSCRIPT_BYTES);

  return {
    add(chunk, stream) {
      tail.add(chunk);
      for (const onChunk of followers) onChunk(chunk, stream);
    },
    text: () => tail.text(),
    follow(onText) {
      const decoders = { stdout: new StringDecoder("utf8"), stderr: new StringDecoder("utf8") };
      const onChunk: RunOutput["add"] = (chunk, stream) => {
        const text = decoders[stream].write(chunk);
        if (text !== "") onText(text);
      };
      followers.add(onChunk);
      return () => void followers.delete(onChunk);
    },
  };
}
