import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import type { OwnerRecord } from "./owner-record.ts";

/** Answers a request of another process of this user. */
export type OwnerAnswer = (request: unknown, asker: Asker) => Promise<void>;

/** The process that asked. */
export type Asker = {
  /** Sends one JSON value. Disconnects an asker that does not read. */
  readonly send: (value: unknown) => void;
  /** Aborts when the asker disconnects */
  readonly signal: AbortSignal;
};

/**
 * Sends a request through an owner's lock, and yields the answers until the owner ends them. Throws if nobody holds the lock, or if
 * `signal` aborts. If the owner answers no requests, or dies, the answers just end.
 */
export async function* askOwner(
  { lock }: Pick<OwnerRecord, "lock">,
  request: unknown,
  signal: AbortSignal,
): AsyncGenerator<unknown> {
  const socket = connect({ path: lock, signal });
  await once(socket, "connect");
  // A broken connection just ends the answers.
  const answers = socket.on("error", () => undefined).pipe(new PassThrough());
  socket.once("close", () => answers.end());
  socket.write(`${JSON.stringify(request)}\n`);
  try {
    let rest = "";
    for await (const chunk of answers.setEncoding("utf8")) {
      // Not readline, which ends lines at U+2028 too, and yields a last line that was cut off.
      const lines = `${rest}${chunk as string}`.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) yield JSON.parse(line) as unknown;
    }
    signal.throwIfAborted();
  } finally {
    socket.destroy();
  }
}

// A request is short, and follows the connection at once.
const MOST_CHARACTERS = 4_096;
const REQUEST_LIMIT_MS = 5_000;

/** Reads a request from a connection to a lock, and answers it. Some processes connect only to see if the owner is alive. */
export function answerAsker(socket: Socket, answer: OwnerAnswer | undefined): void {
  // A lock must not keep the process alive.
  socket.unref();
  socket.on("error", () => socket.destroy());
  if (answer === undefined) return void socket.destroy();
  const gone = new AbortController();
  socket.once("close", () => gone.abort());
  socket.setTimeout(REQUEST_LIMIT_MS, () => socket.destroy());
  socket.setEncoding("utf8");
  let text = "";
  const read = (chunk: string): void => {
    text += chunk;
    if (text.length > MOST_CHARACTERS) return void socket.destroy();
    if (!text.includes("\n")) return;
    socket.off("data", read);
    // Without reading on, the end of the connection would go unnoticed.
    socket.resume();
    socket.setTimeout(0);
    answerLine(text, answer, { send: (value) => send(socket, value), signal: gone.signal }).then(
      () => socket.end(),
      () => socket.destroy(),
    );
  };
  socket.on("data", read);
}

async function answerLine(line: string, answer: OwnerAnswer, asker: Asker): Promise<void> {
  await answer(JSON.parse(line), asker);
}

const MOST_BUFFERED_BYTES = 4 * 1024 * 1024;

function send(socket: Socket, value: unknown): void {
  if (!socket.writable) return;
  socket.write(`${JSON.stringify(value)}\n`);
  if (socket.writableLength > MOST_BUFFERED_BYTES) socket.destroy();
}
