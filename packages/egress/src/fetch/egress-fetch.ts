import { once } from "node:events";
import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { createAgents } from "./agents.ts";
import { createConnector, type ConnectorOptions } from "./connector.ts";
import { toResponse } from "./to-response.ts";

/** A `fetch` that reaches only allowed hosts, and follows no redirect. */
export type EgressFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** Creates a `fetch` that obeys an egress policy as a sandbox's proxy does. It rejects a refused request with the reason. */
export function createEgressFetch(options: ConnectorOptions): EgressFetch {
  const agents = createAgents(createConnector(options));
  return async (url, init = {}) => {
    const { signal } = init;
    signal?.throwIfAborted();
    // Interprets headers and all kinds of bodies as `fetch` does.
    const asked = new Request(url, { ...init, signal: null });
    const body = asked.body === null ? undefined : Buffer.from(await asked.arrayBuffer());
    const isSecure = asked.url.startsWith("https:");
    const request = (isSecure ? httpsRequest : httpRequest)(asked.url, {
      method: asked.method,
      headers: { ...DEFAULTS, ...Object.fromEntries(asked.headers), "accept-encoding": "identity" },
      agent: isSecure ? agents.secure : agents.plain,
    });
    const incoming = await awaitResponse(request.end(body), signal ?? undefined);
    return toResponse(incoming, asked.url);
  };
}

// Some servers refuse requests without them.
const DEFAULTS = { accept: "*/*", "user-agent": "budgie" };

async function awaitResponse(request: ClientRequest, signal: AbortSignal | undefined): Promise<IncomingMessage> {
  let incoming: IncomingMessage | undefined;
  const abort = (): void => void (incoming ?? request).destroy(signal?.reason as Error);
  signal?.addEventListener("abort", abort, { once: true });
  request.once("close", () => signal?.removeEventListener("abort", abort));
  try {
    [incoming] = (await once(request, "response")) as [IncomingMessage];
    return incoming;
  } catch (error) {
    signal?.throwIfAborted();
    // A refusal keeps its message; network errors become those of `fetch`.
    throw (error as NodeJS.ErrnoException).code === undefined ? error : new TypeError("fetch failed", { cause: error });
  } finally {
    // The response reports later errors.
    request.on("error", () => undefined);
  }
}
