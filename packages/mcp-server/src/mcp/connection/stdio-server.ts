import type { Host } from "../../process/host.ts";
import type { ClientTransport } from "./client-transport.ts";
import type { Connection } from "./connection.ts";
import { createStdioTransport } from "./stdio-transport.ts";

/** Serves clients, in whatever way they come. */
export type ToolServer = {
  readonly start: () => Promise<void>;
  /** Tells every client that the tools are others now. */
  readonly notifyToolListChanged: () => void;
  /** Aborts every call, and resolves when all are over */
  readonly close: () => Promise<void>;
};

export type StdioServerOptions = {
  readonly host: Pick<Host, "stdin" | "stdout">;
  readonly connect: (transport: ClientTransport, onClientClosed: () => void) => Connection;
  readonly onClientClosed: () => void;
};

/** Creates the server for the one client on stdin and stdout; nothing is read before it is started. */
export function createStdioServer({ connect, host, onClientClosed }: StdioServerOptions): ToolServer {
  const connection = connect(createStdioTransport(host), onClientClosed);
  return {
    async start() {
      // The transport itself looks out for neither.
      host.stdin.on("end", onClientClosed).on("close", onClientClosed);
      host.stdout.on("error", onClientClosed);
      await connection.start();
    },
    notifyToolListChanged: connection.notifyToolListChanged,
    close: connection.close,
  };
}
