import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { isIPv6, type AddressInfo } from "node:net";
import { BudgieError } from "@budgie/core";
import type { ToolServer } from "../connection/stdio-server.ts";
import { answerRequest, MCP_PATH } from "./answer-request.ts";
import { createConnectionShares } from "./connection-shares.ts";
import { HTTP_LIMITS, type HttpLimits } from "./http-limits.ts";
import { createHttpSessions, type HttpClientsOptions } from "./http-sessions.ts";
import { createRequestGuard, type RequestGuardOptions } from "./request-guard.ts";
import { refuse } from "./send-json.ts";
import { createTokenCheck } from "./token-check.ts";

export type HttpServerOptions = RequestGuardOptions &
  Pick<HttpClientsOptions, "connect"> & {
    /** 0 selects a free port */
    readonly port: number;
    readonly token: string;
    /** `true` to print the token, once; default false */
    readonly isNewToken?: boolean;
    readonly sessionTtlMs: number;
    readonly version: string;
    readonly report: (line: string) => void;
    /** Default {@link HTTP_LIMITS} */
    readonly limits?: HttpLimits;
  };

/** Creates the server for clients over HTTP. It listens once started. */
export function createHttpServer(options: HttpServerOptions): ToolServer {
  const { connect, host, limits = HTTP_LIMITS, port, report, sessionTtlMs: ttlMs, token, version } = options;
  const sessions = createHttpSessions({ connect, limits, report, ttlMs });
  const guard = createRequestGuard(options);
  const connections = createConnectionShares(limits);
  const isToken = createTokenCheck(token);
  const isAuthorized = ({ headers, socket }: IncomingMessage): boolean => {
    if (!isToken(headers.authorization)) return false;
    connections.authenticate(socket);
    return true;
  };
  const parts = { guard, sessions, limits, version, isAuthorized };
  const server = createServer({
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: Math.min(limits.headersMs, 5000),
  });
  server.on("connection", connections.take);
  const open = new Set<ServerResponse>();
  server.on("request", (request, response) => {
    open.add(response);
    response.once("close", () => open.delete(response));
    answerRequest(request, response, parts).catch((error: unknown) => {
      // A client that disconnected during its request needs no response.
      if (request.destroyed && !request.complete) return;
      // A bug in budgie: no other place has its stack.
      report(String(error instanceof Error ? error.stack : error));
      if (response.headersSent) response.destroy();
      else refuse(response, { status: 500, code: -32_603, message: "budgie failed; its log has the details." });
    });
  });

  return {
    async start() {
      await new Promise<void>((resolve, reject) => {
        server.once("error", (error) => reject(listenError(error, { host, port })));
        server.listen({ host, port }, resolve);
      });
      server.on("error", ({ message }) => report(`Trouble with HTTP: ${message}`));
      const { port: realPort } = server.address() as AddressInfo;
      // Printed only after listening succeeded; before, the token would be useless.
      if (options.isNewToken === true) report(`The bearer token, for as long as this budgie runs: ${token}`);
      report(`Listening on http://${isIPv6(host) ? `[${host}]` : host}:${realPort}${MCP_PATH}`);
    },
    notifyToolListChanged: sessions.notifyToolListChanged,
    async close() {
      server.close();
      await sessions.close();
      // The last answers are still being written.
      const limit = { signal: AbortSignal.timeout(LAST_WRITE_MS) };
      await Promise.allSettled([...open].map((response) => once(response, "close", limit)));
      server.closeAllConnections();
    },
  };
}

const LAST_WRITE_MS = 1_000;

const WHY: Readonly<Record<string, string>> = {
  EADDRINUSE: "something else listens there. Stop that, or choose another --port",
  EACCES: "you may not. Choose a --port above 1023",
  EADDRNOTAVAIL: "this machine does not have that address. Choose another --host",
  ENOTFOUND: "no such name is known. Choose another --host",
};

function listenError(cause: NodeJS.ErrnoException, { host, port }: { host: string; port: number }): BudgieError {
  const { code = "", message } = cause;
  const why = WHY[code] ?? `${message}. Choose another --host or --port`;
  return new BudgieError("CONFIG_INVALID", `Cannot listen on port ${port} of "${host}": ${why}.`, { cause });
}
