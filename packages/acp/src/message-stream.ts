import { Writable, type Readable } from "node:stream";
import { BudgieError } from "@budgie/core";
import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";

export type MessageStreamOptions = {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Called with the parameters of each `session/update`, which are not checked */
  readonly onUpdate: (params: unknown) => void;
};

// Codex sends the output of a tool in messages of up to 2.4 MB.
const LARGEST_MESSAGE_BYTES = 16 * 1024 * 1024;

/**
 * Creates the stream of messages with an agent, one JSON object a line. Lines that are no messages are ignored, such as a banner, and so are
 * notifications but for updates, and answers to nothing that was asked: the SDK would log them with the agent's own words.
 */
export function toMessageStream({ onUpdate, stdin, stdout }: MessageStreamOptions): Stream {
  const lines = readLines(stdout);
  const asked = new Set<unknown>();
  const output: WritableStream<Uint8Array> = Writable.toWeb(stdin);
  const writer = output.getWriter();
  return {
    readable: new ReadableStream<AnyMessage>({
      async pull(controller) {
        for (;;) {
          const { done, value } = await lines.next();
          if (done === true) return controller.close();
          const message = parseMessage(value);
          if (message === undefined) continue;
          if ("method" in message) {
            if ("id" in message) return controller.enqueue(message as AnyMessage);
            if (message["method"] === "session/update") onUpdate(message["params"]);
          } else if (asked.delete(message["id"])) return controller.enqueue(message as AnyMessage);
        }
      },
      async cancel() {
        await lines.return(undefined);
      },
    }),
    writable: new WritableStream<AnyMessage>({
      async write(message) {
        if ("id" in message && "method" in message) asked.add(message.id);
        await writer.write(Buffer.from(`${JSON.stringify(message)}\n`));
      },
    }),
  };
}

/** Yields the lines of a stream, without their ends. Throws `AGENT_FAILED` for one that no message needs. */
async function* readLines(stream: Readable): AsyncGenerator<Buffer, undefined> {
  let pieces: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
      yield Buffer.concat([...pieces, chunk.subarray(start, end)]);
      [pieces, bytes, start] = [[], 0, end + 1];
    }
    bytes += chunk.length - start;
    if (bytes > LARGEST_MESSAGE_BYTES) {
      throw new BudgieError(
        "AGENT_FAILED",
        `The agent sent a message of more than ${LARGEST_MESSAGE_BYTES / 2 ** 20} MiB, and its turn was ended. Give it a smaller task.`,
      );
    }
    if (start < chunk.length) pieces.push(chunk.subarray(start));
  }
  return undefined;
}

function parseMessage(line: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line.toString("utf8"));
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined;
  } catch {
    return undefined;
  }
}
