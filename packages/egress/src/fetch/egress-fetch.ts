import { once } from "node:events";
import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { createAgents } from "./agents.ts";
import { createConnector, type ConnectorOptions } from "./connector.ts";
import { toResponse } from "./response.ts";

/** A `fetch` of this process that reaches what it may alone. It follows no redirect. */
export type EgressFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** Creates a `fetch` that keeps to an egress policy, as the proxy of a sandbox does: a refusal rejects, and says why. */
export function createEgressFetch(options: ConnectorOptions): EgressFetch {
  const agents = createAgents(createConnector(options));
  return async (url, init = {}) => {
    const { signal } = init;
    signal?.throwIfAborted();
    // Reads headers and the kinds of bodies as `fetch` does.
    const asked = new Request(url, { ...init, signal: null });
    const body = asked.body === null ? undefined : Buffer.from(await asked.arrayBuffer());
    const isSecure = asked.url.startsWith("https:");
    const request = (isSecure ? httpsRequest : httpRequest)(asked.url, {
      method: asked.method,
      headers: { ...DEFAULTS, ...Object.fromEntries(asked.headers), "accept-encoding": "identity" },
      agent: isSecure ? agents.secure : agents.plain,
    });
    const incoming = await toIncoming(request.end(body), signal ?? undefined);
    return toResponse(incoming, asked.url);
  };
}

// Some servers refuse requests without them.
const DEFAULTS = { accept: "*/*", "user-agent": "budgie" };

async function toIncoming(request: ClientRequest, signal: AbortSignal | undefined): Promise<IncomingMessage> {
  let incoming: IncomingMessage | undefined;
  const abort = (): void => void (incoming ?? request).destroy(signal?.reason as Error);
  signal?.addEventListener("abort", abort, { once: true });
  request.once("close", () => signal?.removeEventListener("abort", abort));
  try {
    [incoming] = (await once(request, "response")) as [IncomingMessage];
    return incoming;
  } catch (error) {
    signal?.throwIfAborted();
    // A refusal has its own words; errors of the network are those of `fetch`.
    throw (error as NodeJS.ErrnoException).code === undefined ? error : new TypeError("fetch failed", { cause: error });
  } finally {
    // Its later errors are those of the response.
    request.on("error", () => undefined);
  }
}
