import { StringDecoder } from "node:string_decoder";
import type { TurnHooks } from "@budgie/core";

/** The output of an agent, as far as it is kept. */
export type RunOutput = {
  readonly add: NonNullable<TurnHooks["onOutput"]>;
  /** Returns the end of the output, with a line for what is no longer kept */
  readonly text: () => string;
  /** Calls `onText` with all further output. Returns a function that ends this. */
  readonly follow: (onText: (text: string) => void) => () => void;
};

// A run's output is kept in memory for as long as it runs.
const KEPT_CHARACTERS = 256 * 1024;

/** Creates the output of a run, without any. */
export function createRunOutput(): RunOutput {
  const decoders = { stdout: new StringDecoder("utf8"), stderr: new StringDecoder("utf8") };
  const followers = new Set<(text: string) => void>();
  let kept = "";
  let dropped = 0;

  return {
    add(chunk, stream) {
      const text = decoders[stream].write(chunk);
      if (text === "") return;
      kept += text;
      // Now and then, so that many small chunks cost no more than a few large ones.
      if (kept.length > 2 * KEPT_CHARACTERS) {
        dropped += kept.length - KEPT_CHARACTERS;
        // A slice of a text keeps all of the text in memory.
        kept = Buffer.from(kept.slice(-KEPT_CHARACTERS)).toString();
      }
      for (const onText of followers) onText(text);
    },
    text: () => (dropped === 0 ? kept : `[budgie: ${dropped} characters before this are not kept]\n${kept}`),
    follow(onText) {
      followers.add(onText);
      return () => void followers.delete(onText);
    },
  };
}
