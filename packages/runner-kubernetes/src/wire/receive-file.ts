import { createHash } from "node:crypto";
import { BudgieError } from "@budgie/core";
import type { WireStream } from "./wire-stream.ts";

/**
 * Yields a file's content. Rejects if it is longer than the limit, and at its end unless the sender gave the length and SHA-256 of exactly
 * these bytes. A reader keeps nothing of a file before that.
 */
export async function* receiveFile(stream: WireStream, mostBytes: number): AsyncGenerator<Buffer> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const piece of stream.input as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > mostBytes) throw new BudgieError("DISK_LIMIT", `A file from the Pod has more than ${mostBytes} bytes.`);
    hash.update(piece);
    yield piece;
  }
  const last = await stream.last;
  if (last["bytes"] === bytes && last["sha256"] === hash.digest("hex")) return;
  throw new BudgieError("RUNNER_UNAVAILABLE", `A file of ${bytes} bytes did not arrive as it was sent. Try again.`);
}
