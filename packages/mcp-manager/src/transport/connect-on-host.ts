import type { FetchLike, Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { HttpServer, McpServer } from "../config/mcp-server.ts";
import { startHostProcess, type HostProcessOptions } from "./host-process.ts";
import { createHttpTransport } from "./http-transport.ts";
import { createProcessTransport } from "./process-transport.ts";
import type { ServerLogin } from "./with-login.ts";

/**
 * Creates the `fetch` for requests to a server, and to the other URLs of a login to it: those that a stored login names, or `any`
 * during the login itself. It follows no redirects.
 */
export type CreateFetch = (
  server: Pick<McpServer & HttpServer, "name" | "url">,
  others: "any" | readonly string[],
) => FetchLike;

/** Creates the transport to a server. The manager starts and closes it. `log` takes lines for the server's log. */
export type Connect = (server: McpServer, log: (line: string) => void) => Transport;

export type ConnectOptions = HostProcessOptions & {
  /** Default: Node's `fetch`, which reaches every address that this machine does */
  readonly createFetch?: CreateFetch | undefined;
  /** Returns the tokens of a login to a server; not called if its entry has an `authorization` header */
  readonly findLogin?: ((server: McpServer & HttpServer) => ServerLogin) | undefined;
};

/** Returns a function that starts programs as processes on this machine, and reaches URLs from it. */
export function connectOnHost({ createFetch, findLogin, ...host }: ConnectOptions): Connect {
  return (server, log) =>
    server.type === "stdio"
      ? createProcessTransport(() => startHostProcess(server, host), log)
      : createHttpTransport(server, {
          timeoutMs: server.timeoutMs,
          fetch: createFetch?.(server, []),
          login: hasToken(server) ? undefined : findLogin?.(server),
        });
}

function hasToken({ headers }: HttpServer): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
}
