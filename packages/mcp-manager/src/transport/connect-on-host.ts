import type { FetchLike, Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { HttpServer, McpServer } from "../config/mcp-server.ts";
import { startHostProcess, type HostProcessOptions } from "./host-process.ts";
import { createHttpTransport } from "./http-transport.ts";
import { createProcessTransport } from "./process-transport.ts";
import type { ServerLogin } from "./with-login.ts";

/**
 * Creates the `fetch` for requests to a server, and to other URLs that belong to a login to it: those that a stored login names, or
 * `any` while someone logs in. It follows no redirect.
 */
export type CreateFetch = (
  server: Pick<McpServer & HttpServer, "name" | "url">,
  others: "any" | readonly string[],
) => FetchLike;

/** Creates the transport to a server, which the manager starts and closes. `log` takes lines for the server's log. */
export type Connect = (server: McpServer, log: (line: string) => void) => Transport;

export type ConnectOptions = HostProcessOptions & {
  /** Default: Node's `fetch`, which reaches every address that this machine does */
  readonly createFetch?: CreateFetch | undefined;
  /** Returns the tokens of a login to a server, which it gets unless its entry has a header `authorization` */
  readonly findLogin?: ((server: McpServer & HttpServer) => ServerLogin) | undefined;
};

/** Returns a function that starts programs as processes of this machine, and reaches addresses from it. */
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
