import type { IncomingMessage } from "node:http";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { BudgieError } from "@budgie/core";
import { createRate } from "@budgie/core/bounds";
import type { A2aServer } from "./a2a-server.ts";
import { readEvents } from "../http/read-events.ts";
import { checkStatus, readChunks, readText, send, tooMuch } from "../http/send.ts";
import { createMask, type Mask } from "../http/mask.ts";
import { oneLine } from "../http/one-line.ts";
import { parseCounted, toFields, type Fields } from "../http/fields.ts";
import type { Wire } from "./wire.ts";

/** The calls of one server. */
export type Client = {
  readonly wire: Wire;
  /** Yields the answers to a call: one, or those of a stream. */
  readonly ask: (method: string, params: Fields, signal: AbortSignal) => AsyncGenerator<RpcReply, undefined>;
  /** Resolves to the first answer. */
  readonly askOnce: (method: string, params: Fields, signal: AbortSignal) => Promise<RpcReply>;
};

/** The answer to a call: its result, or the server's own error. */
export type RpcReply = { readonly result: unknown } | { readonly error: RpcError };

export type RpcError = {
  readonly code: number | undefined;
  /** The server's words, on one line, without the values of headers */
  readonly message: string;
};

const LARGEST_TOTAL_BYTES = 64 * 1024 * 1024;
const LARGEST_BODY_BYTES = 8 * 1024 * 1024;
const MOST_EVENTS = 100_000;
const EVENTS_AT_ONCE = 100;
// Some hundred long answers a second
const VALUES = { perSecond: 100_000, burst: 200_000 };
// For these, the remedy is the same whatever else the server says.
const LOGIN = new Set([401, 403]);

type ClientOptions = { readonly server: A2aServer; readonly wire: Wire; readonly who: string };

/** Creates the client of a server, for JSON-RPC over HTTP. Bounds everything that the server sends. */
export function createClient({ server, who, wire }: ClientOptions): Client {
  const url = new URL(server.url);
  const mask = createMask(server.headers);
  const headers = {
    ...server.headers,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "a2a-version": wire.version,
  };

  async function* ask(method: string, params: Fields, signal: AbortSignal): AsyncGenerator<RpcReply, undefined> {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const response = await send({ who, url, headers, body, signal });
    if (!isStream(response)) {
      yield await readReply(response);
      return undefined;
    }
    const rate = createRate(VALUES);
    let events = 0;
    for await (const data of readEvents(readChunks(response, { maxBytes: LARGEST_TOTAL_BYTES, who }), who)) {
      if (++events > MOST_EVENTS) throw tooMuch(who, LARGEST_TOTAL_BYTES);
      const { value, values } = parseCounted(data, who);
      const waitMs = rate.take(values);
      if (waitMs >= 1) await sleep(waitMs);
      const reply = parseReply(value, mask);
      if (reply !== undefined) yield reply;
      // A chunk may hold thousands of events, and other turns wait.
      if (events % EVENTS_AT_ONCE === 0) await setImmediate();
    }
    return undefined;
  }

  async function readReply(response: IncomingMessage): Promise<RpcReply> {
    const text = await readText(response, { maxBytes: LARGEST_BODY_BYTES, who });
    const status = response.statusCode ?? 0;
    const reply = LOGIN.has(status) ? undefined : parseReply(parseCounted(text, who).value, mask);
    // Some servers send a JSON-RPC error with an error status.
    if (reply !== undefined && "error" in reply) return reply;
    checkStatus(status, text, { headers: server.headers, url, who });
    if (reply === undefined) throw noJson(who);
    return reply;
  }

  return {
    wire,
    ask,
    async askOnce(method, params, signal) {
      for await (const reply of ask(method, params, signal)) return reply;
      throw noJson(who);
    },
  };
}

function isStream({ headers, statusCode }: IncomingMessage): boolean {
  return statusCode === 200 && headers["content-type"]?.startsWith("text/event-stream") === true;
}

function parseReply(answer: unknown, mask: Mask): RpcReply | undefined {
  const reply = toFields(answer);
  if (reply["error"] !== undefined && reply["error"] !== null) {
    const { code, message } = toFields(reply["error"]);
    return {
      error: {
        code: typeof code === "number" ? code : undefined,
        message: oneLine(typeof message === "string" ? mask(message) : "no reason given"),
      },
    };
  }
  return reply["result"] === undefined ? undefined : { result: reply["result"] };
}

function noJson(who: string): BudgieError {
  return new BudgieError(
    "AGENT_FAILED",
    `The server of ${who} answered with something that is not A2A. Correct "url".`,
  );
}
