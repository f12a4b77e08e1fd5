import { request as requestHttp, type IncomingMessage, type RequestOptions } from "node:http";
import { request as requestHttps } from "node:https";
import { setTimeout as wait } from "node:timers/promises";
import { BudgieError } from "@budgie/core";
import { orAborted } from "@budgie/core/bounds";
import type { Limits, Manifest } from "./cluster.ts";
import type { RawAnswer } from "./judge-answer.ts";
import type { Access } from "./load-access.ts";
import { quote } from "./parse-object.ts";

/** A request to the API server. */
export type ClusterRequest = {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Manifest;
};

const LIMIT_MS = 30_000;
const MOST_BYTES = 16 * 1024 * 1024;
const BUSY = [429, 503];
const BUSY_MS = 1_000;

/** Asks the API server, and reads its whole answer. Waits while the server is busy, as long as the limits allow. */
export async function requestCluster(access: Access, request: ClusterRequest, limits: Limits = {}): Promise<RawAnswer> {
  const { limitMs = LIMIT_MS, signal: cancel } = limits;
  const until = performance.now() + limitMs;
  const limit = AbortSignal.timeout(limitMs);
  const signal = cancel === undefined ? limit : AbortSignal.any([cancel, limit]);
  try {
    for (;;) {
      const answer = await openAnswer(access, request, signal);
      const { statusCode: status = 0 } = answer;
      const body = await readBounded(answer);
      const waitMs = findWaitMs(answer);
      if (!BUSY.includes(status) || performance.now() + waitMs >= until) return { status, body };
      await wait(waitMs, undefined, { signal });
    }
  } catch (error) {
    throw toRequestError(error, access, cancel);
  }
}

/** Asks the API server, once more with a fresh credential if the first is not accepted, and returns the answer unread. */
export async function openAnswer(
  access: Access,
  request: ClusterRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const first = await send(access, request, { signal, isFresh: false });
  if (first.statusCode !== 401) return first;
  first.destroy();
  return send(access, request, { signal, isFresh: true });
}

/** Translates a failure of a request. Its body is in no message. */
function toRequestError(error: unknown, { context }: Access, cancel: AbortSignal | undefined): BudgieError {
  if (cancel?.aborted === true) return new BudgieError("CANCELLED", "The request to the cluster was cancelled.");
  if (error instanceof BudgieError) return error;
  const { code, name } = error as NodeJS.ErrnoException;
  const why = name === "TimeoutError" || name === "AbortError" ? "no answer in time" : (code ?? name);
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The cluster of the context "${quote(context)}" cannot be reached (${why}). Check that it runs, and your connection to it.`,
    { cause: error },
  );
}

type Sending = { readonly signal: AbortSignal; readonly isFresh: boolean };

async function send(access: Access, request: ClusterRequest, { isFresh, signal }: Sending): Promise<IncomingMessage> {
  const { headers, ...login } = await orAborted(access.login({ isFresh }), signal);
  const body = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body));
  const options: RequestOptions = {
    ...login,
    method: request.method,
    signal,
    headers: {
      ...headers,
      accept: "application/json",
      // The server ignores the body of a DELETE without its length.
      ...(body === undefined ? {} : { "content-type": toContentType(request), "content-length": body.length }),
    },
  };
  const url = toUrl(access.server, request);
  return new Promise((resolve, reject) => {
    const start = url.protocol === "https:" ? requestHttps : requestHttp;
    start(url, options, resolve).on("error", reject).end(body);
  });
}

function toContentType({ method }: ClusterRequest): string {
  return method === "PATCH" ? "application/merge-patch+json" : "application/json";
}

function toUrl(server: URL, { path, query = {} }: ClusterRequest): URL {
  const url = new URL(server);
  url.pathname = `${url.pathname.replace(/\/$/, "")}${path}`;
  url.search = new URLSearchParams(query).toString();
  return url;
}

async function readBounded(answer: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of answer as AsyncIterable<Buffer>) {
    length += piece.length;
    // Leaving the loop destroys the connection.
    if (length > MOST_BYTES) return Buffer.alloc(0);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Returns the time that a busy server asks for. */
function findWaitMs({ headers }: IncomingMessage): number {
  const asked = headers["retry-after"] ?? "";
  return /^\d{1,6}$/.test(asked) ? Math.max(BUSY_MS, Number(asked) * 1_000) : BUSY_MS;
}
