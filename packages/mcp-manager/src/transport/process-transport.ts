import type { Readable } from "node:stream";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { createLineReader, createRate, parseCountedJson } from "@budgie/core/bounds";
import { cleanLine } from "../bounds/clean-text.ts";
import { LIMITS } from "../bounds/limits.ts";
import type { HostProcess } from "./host-process.ts";

/** The streams of a process, or of a container, that speaks MCP. */
export type ServerProcess = HostProcess;

/** Starts a server. The signal is aborted if nobody waits for the start any more. */
export type StartServer = (signal: AbortSignal) => ServerProcess | Promise<ServerProcess>;

/**
 * Creates a transport over the streams of a server. It slows down a server that sends too much, and ends one that sends a message
 * that is too large, or has too many values.
 */
export function createProcessTransport(start: StartServer, log: (line: string) => void): Transport {
  const closing = new AbortController();
  let starting: Promise<ServerProcess> | undefined;
  let server: ServerProcess | undefined;
  let isClosed = false;
  const transport: Transport = {
    async start() {
      starting = (async () => start(closing.signal))();
      server = await starting;
      listen(server.stdout, transport, () => void transport.close());
      logLines(server.stderr, log);
      void server.ended.then((reason) => {
        if (!isClosed) transport.onerror?.(new Error(reason));
        isClosed = true;
        transport.onclose?.();
      });
    },
    async send(message) {
      if (server === undefined || isClosed || !server.stdin.writable) throw new Error("it has ended");
      // Unread messages would pile up in memory.
      if (server.stdin.writableLength > LIMITS.messageBytes) throw new Error("it does not read its input");
      server.stdin.write(`${JSON.stringify(message)}\n`);
    },
    async close() {
      isClosed = true;
      if (server === undefined) closing.abort();
      // `start` reports a start that fails. A process that cannot be stopped is left to its owner.
      await starting?.then((started) => started.stop()).catch(() => undefined);
    },
  };
  return transport;
}

/** Passes on the messages in a server's output, and pauses the output at its rate limit. */
function listen(stdout: Readable, transport: Transport, end: () => void): void {
  const bytes = createRate(LIMITS.bytes);
  const messages = createRate(LIMITS.messages);
  const values = createRate(LIMITS.values);
  let taken = 0;
  let isEnded = false;

  function refuse(excess: string): void {
    isEnded = true;
    transport.onerror?.(new Error(`it sent a message of ${excess}`));
    end();
  }

  const read = createLineReader({
    maxBytes: LIMITS.messageBytes,
    onLine(line) {
      if (isEnded) return;
      try {
        taken += receive(line, transport);
      } catch (error) {
        refuse((error as RangeError).message);
      }
    },
    onTooLong: () => refuse(`more than ${LIMITS.messageBytes} bytes`),
  });
  stdout.on("error", () => undefined);
  stdout.on("data", (chunk: Buffer) => {
    taken = 0;
    const lines = read(chunk);
    const waitMs = Math.max(bytes.take(chunk.length), messages.take(lines), values.take(taken));
    if (waitMs < 1) return;
    stdout.pause();
    setTimeout(() => stdout.resume(), waitMs).unref();
  });
}

/** Passes a message on, and returns the number of its values. Throws a `RangeError` for one that has too many. */
function receive(line: Buffer, transport: Transport): number {
  const { value, values } = parse(line);
  try {
    if (value !== undefined) transport.onmessage?.(value as JSONRPCMessage);
  } catch {
    transport.onmessage?.(INVALID);
  }
  return values;
}

// `null` is not a valid message either, and handled as such.
const INVALID = null as unknown as JSONRPCMessage;

/** Parses a message. A blank line has no value. */
function parse(line: Buffer): { readonly value?: unknown; readonly values: number } {
  try {
    return parseCountedJson(line);
  } catch (error) {
    if (error instanceof RangeError) throw error;
    return line.toString("utf8").trim() === "" ? { values: 0 } : { value: INVALID, values: 0 };
  }
}

/** Logs what a server writes to stderr, without the lines beyond the rate limit. */
function logLines(stderr: Readable, log: (line: string) => void): void {
  const rate = createRate(LIMITS.messages);
  let rest = "";
  stderr.on("error", () => undefined);
  stderr.setEncoding("utf8").on("data", (text: string) => {
    const lines = `${rest}${text}`.split("\n");
    rest = (lines.pop() ?? "").slice(0, LIMITS.logLine);
    for (const line of lines) if (rate.tryTake()) log(cleanLine(line, LIMITS.logLine));
  });
  stderr.on("end", () => void (rest === "" || log(cleanLine(rest, LIMITS.logLine))));
}
