import { BudgieError } from "@budgie/core";
import type { Volume } from "../requests/index.ts";
import { awaitAnswer } from "../session/ask-pod.ts";
import type { Wire } from "../wire/index.ts";

/** The records of a volume, as the Pod sends them. */
export type PackedVolume = {
  /** Yields them as bytes, and rejects at the end unless the Pod says that these are all */
  readonly pieces: AsyncGenerator<Buffer>;
  /** Ends the packing, wherever it is */
  readonly stop: () => void;
};

// The Pod first puts hidden paths back, and may read a large folder without a word.
const IDLE_MS = 60_000;

/** Asks for the records of a volume in which no process works. A reader that is slow slows the Pod. */
export function packVolume(wire: Wire, volume: Volume, idleMs: number = IDLE_MS): PackedVolume {
  const stream = wire.open({ purpose: "file", act: "pack", volume });
  stream.end();
  const answered = awaitAnswer(stream);
  answered.catch(() => undefined);

  async function* read(): AsyncGenerator<Buffer> {
    let isWaiting = true;
    // One timer for all pieces, of which a hostile Pod may send any number.
    const timer = setTimeout(() => {
      if (isWaiting) stream.input.destroy(silentError(idleMs));
      else timer.refresh();
    }, idleMs);
    try {
      for await (const piece of stream.input as AsyncIterable<Buffer>) {
        isWaiting = false;
        yield piece;
        isWaiting = true;
        timer.refresh();
      }
    } finally {
      clearTimeout(timer);
    }
    await answered;
  }

  return { pieces: read(), stop: () => void stream.input.destroy() };
}

function silentError(idleMs: number): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The Pod sent nothing of a volume for ${idleMs / 1_000} seconds. Check the cluster, and try again.`,
  );
}
