import { BudgieError } from "@budgie/core";
import { orAborted } from "@budgie/core/bounds";
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
    const pieces = stream.input[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    for (;;) {
      const next = await withinIdle(pieces.next(), idleMs);
      if (next.done === true) break;
      yield next.value;
    }
    await withinIdle(answered, idleMs);
  }

  return { pieces: read(), stop: () => void stream.input.destroy() };
}

function withinIdle<T>(work: Promise<T>, idleMs: number): Promise<T> {
  const limit = AbortSignal.timeout(idleMs);
  return orAborted(work, limit).catch((error: unknown) => {
    throw limit.aborted ? silentError(idleMs) : error;
  });
}

function silentError(idleMs: number): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The Pod sent nothing of a volume for ${idleMs / 1_000} seconds. Check the cluster, and try again.`,
  );
}
