import { request as requestHttp, type IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { BudgieError } from "@budgie/core";
import { createMask } from "./mask.ts";
import { oneLine } from "./one-line.ts";

/** A request to a server of one or more agents. */
export type HttpRequest = {
  /** The server's name in messages, such as `the agent "reviewer"` */
  readonly who: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent by POST; left out for GET */
  readonly body?: Buffer | string | undefined;
  readonly signal: AbortSignal;
};

/**
 * Sends a request and resolves to its response, whatever its status. Does not follow redirects, and does not decompress the response,
 * so that limits bound its real size. Throws `RUNNER_UNAVAILABLE` if the server cannot be reached.
 */
export function send({ body, headers, signal, url, who }: HttpRequest): Promise<IncomingMessage> {
  const request = url.protocol === "https:" ? requestHttps : requestHttp;
  const method = body === undefined ? "GET" : "POST";
  return new Promise((resolve, reject) => {
    // A new connection: a server may close a kept-alive one just as it is reused.
    const sent = request(url, { method, headers, signal, agent: false }, resolve);
    sent.on("error", (cause) => reject(unreachableError({ signal, url, who }, cause)));
    // Closes without an error or a response if the server switches protocols.
    sent.on("close", () => reject(unreachableError({ signal, url, who }, new Error("no HTTP response"))));
    sent.end(body);
  });
}

function unreachableError(
  { signal, url, who }: Pick<HttpRequest, "signal" | "url" | "who">,
  cause: NodeJS.ErrnoException,
): BudgieError {
  const place = plainUrl(url);
  const isLate = signal.reason instanceof DOMException && signal.reason.name === "TimeoutError";
  const message = isLate
    ? `The server of ${who} at ${place} did not answer in time. Call again when it is faster.`
    : `Cannot reach ${who} at ${place} (${cause.code ?? oneLine(cause.message)}). Is its server running? Call again then.`;
  return new BudgieError("RUNNER_UNAVAILABLE", message, { cause });
}

/** Returns a URL without its credentials, query and fragment, which may be secret. */
export function plainUrl({ host, pathname, protocol }: URL): string {
  return `${protocol}//${host}${pathname}`;
}

/** Yields the chunks of a response. Throws `AGENT_FAILED` beyond `maxBytes`, and `AGENT_CRASHED` if the connection ends early. */
export async function* readChunks(
  response: IncomingMessage,
  { maxBytes, who }: { readonly maxBytes: number; readonly who: string },
): AsyncGenerator<Buffer, undefined> {
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooMuch(who, maxBytes);
      yield chunk;
    }
    return undefined;
  } catch (cause) {
    if (cause instanceof BudgieError) throw cause;
    throw new BudgieError("AGENT_CRASHED", `The connection to ${who} ended before its answer did. Ask it again.`, {
      cause,
    });
  } finally {
    response.destroy();
  }
}

/** Resolves to the text of a response, with the limits and errors of {@link readChunks}. */
export async function readText(
  response: IncomingMessage,
  limits: { readonly maxBytes: number; readonly who: string },
): Promise<string> {
  return (await readBytes(response, limits)).toString("utf8");
}

/** Resolves to the bytes of a response, with the limits and errors of {@link readChunks}. */
export async function readBytes(
  response: IncomingMessage,
  limits: { readonly maxBytes: number; readonly who: string },
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of readChunks(response, limits)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Creates the error for a server that sends more than budgie reads. */
export function tooMuch(who: string, maxBytes: number): BudgieError {
  const size = maxBytes < 2 ** 20 ? `${maxBytes / 2 ** 10} KiB` : `${maxBytes / 2 ** 20} MiB`;
  return new BudgieError("AGENT_FAILED", `The server of ${who} sent more than ${size}, so budgie stopped reading.`);
}

/** Throws for a status other than 2xx: `LOGIN_REQUIRED` for 401 and 403, else `AGENT_FAILED`. */
export function checkStatus(
  status: number,
  text: string,
  { headers, url, who }: Pick<HttpRequest, "headers" | "url" | "who">,
): void {
  if (status >= 200 && status < 300) return;
  const place = plainUrl(url);
  if (status === 401 || status === 403) {
    throw new BudgieError(
      "LOGIN_REQUIRED",
      `The server of ${who} at ${place} refused budgie (HTTP ${status}). Set "headers" in its section, and the variables that they name.`,
    );
  }
  if (status >= 300 && status < 400) {
    throw new BudgieError(
      "AGENT_FAILED",
      `The server of ${who} at ${place} answered with a redirect (HTTP ${status}), which budgie does not follow. Correct "url".`,
    );
  }
  // A server may echo the headers of a request.
  const words = oneLine(createMask(headers)(text), 300);
  throw new BudgieError(
    "AGENT_FAILED",
    `The server of ${who} at ${place} answered with HTTP ${status}${words === "" ? "" : `: ${words}`}.`,
  );
}
