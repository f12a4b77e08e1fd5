import type { Host } from "../../process/host.ts";
import type { ClientTransport } from "./client-transport.ts";
import type { Connection } from "./connection.ts";
import { createStdioTransport } from "./stdio-transport.ts";

/** A server for MCP clients, over any transport. */
export type ToolServer = {
  readonly start: () => Promise<void>;
  /** Sends `notifications/tools/list_changed` to every client. */
  readonly notifyToolListChanged: () => void;
  /** Aborts every call, and resolves when all have ended. */
  readonly close: () => Promise<void>;
};

export type StdioServerOptions = {
  readonly host: Pick<Host, "stdin" | "stdout">;
  readonly connect: (transport: ClientTransport, onClientClosed: () => void) => Connection;
  readonly onClientClosed: () => void;
};

/** Creates the server for the one client on stdin and stdout. It reads nothing before it is started. */
export function createStdioServer({ connect, host, onClientClosed }: StdioServerOptions): ToolServer {
  const transport = createStdioTransport(host);
  const connection = connect(transport, onClientClosed);
  // Closed first: a client that closes stdin waits for no answers of the calls that this ends.
  const onInputEnd = (): void => void transport.answered().then(() => transport.close());
  return {
    async start() {
      // The SDK's transport handles neither the end of stdin nor errors of stdout.
      host.stdin.on("end", onInputEnd).on("close", onInputEnd);
      host.stdout.on("error", onClientClosed);
      await connection.start();
    },
    notifyToolListChanged: connection.notifyToolListChanged,
    close: connection.close,
  };
}
