import { BudgieError } from "@budgie/core";
import { orAborted } from "@budgie/core/bounds";
import { awaitAnswer } from "../session/ask-pod.ts";
import type { ReachedPod } from "../session/live-pod.ts";

// The sidecar gives up after ten seconds.
const LIMIT_MS = 30_000;
const MOST_BYTES = 16 * 1024;

/** Has the sidecar try to reach targets from its own container, where no jail is, and resolves to what `hold probe` printed there. */
export async function probeBeside({ wire }: Pick<ReachedPod, "wire">, words: readonly string[]): Promise<string> {
  const stream = wire.open({ purpose: "control", ask: "probe" });
  const limit = AbortSignal.timeout(LIMIT_MS);
  stream.output.end(JSON.stringify(words));
  const answered = awaitAnswer(stream);
  answered.catch(() => undefined);
  try {
    const said = await orAborted(readAll(stream.input), limit);
    await orAborted(answered, limit);
    return said;
  } catch (error) {
    throw limit.aborted ? silentError() : error;
  } finally {
    stream.input.destroy();
  }
}

async function readAll(input: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of input) {
    bytes += piece.length;
    if (bytes > MOST_BYTES) throw tooLongError();
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("latin1");
}

function tooLongError(): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    "The Pod said more of its network than was asked. Use the same version of budgie for its image.",
  );
}

function silentError(): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The Pod said nothing of its network for ${LIMIT_MS / 1_000} seconds. Check the cluster, and try again.`,
  );
}
