import type { Host } from "../process/host.ts";
import { createStdioServer, type StdioServerOptions, type ToolServer } from "../mcp/connection/stdio-server.ts";
import { watchParent } from "../process/watch-parent.ts";

/** The checked options of HTTP. */
export type HttpOptions = {
  readonly host: string;
  readonly port: number;
  readonly token: string;
  /** `true` if the token was generated and must be printed */
  readonly isNewToken: boolean;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  readonly sessionTtlMs: number;
  /** `true` if other machines can reach the address */
  readonly isRemote: boolean;
};

export type ToolServerOptions = Omit<StdioServerOptions, "host"> & {
  readonly host: Host;
  /** `undefined` for stdio */
  readonly http: HttpOptions | undefined;
  readonly version: string;
};

/** Creates the server for one client over stdio, or for clients over HTTP. */
export async function createToolServer({ http, ...options }: ToolServerOptions): Promise<ToolServer> {
  const { connect, host, onClientClosed, version } = options;
  if (http === undefined) {
    watchParent(() => {
      host.report("The program that started budgie has exited.");
      onClientClosed();
    });
    return createStdioServer(options);
  }
  // Imported late: stdio does not need it.
  const { createHttpServer } = await import("../mcp/http/http-server.ts");
  if (http.isRemote) host.report(NOT_ENCRYPTED);
  return createHttpServer({ ...http, connect, version, report: host.report });
}

const NOT_ENCRYPTED =
  "Other machines can reach this budgie, and nothing on the way is encrypted, the token neither. Put a proxy that has TLS before it.";
