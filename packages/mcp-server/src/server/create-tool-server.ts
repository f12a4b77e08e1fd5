import type { Host } from "../process/host.ts";
import type { HttpOptions } from "./http-options.ts";
import { createStdioServer, type StdioServerOptions, type ToolServer } from "../mcp/connection/stdio-server.ts";
import { watchParent } from "../process/watch-parent.ts";

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
