import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";

/** A request, or a notification, which has no id. */
type Asked = { readonly id?: number; readonly method: string };

/** Creates a server in this process. It answers only `initialize` and `tools/list`, and passes other messages to `hear`. */
export function createFakeServer(hear: (asked: Asked) => void = () => undefined) {
  const transports: Transport[] = [];
  const server = {
    tools: [] as readonly Readonly<Record<string, unknown>>[],
    /** The number of connections that were closed */
    closed: 0,
    /** True if closing a connection takes forever instead of failing */
    closesForever: false,
    connections: () => transports.length,
    say: (message: object) => transports.at(-1)?.onmessage?.({ jsonrpc: "2.0", ...message } as JSONRPCMessage),
    /** Ends the connection like a crash. */
    crash() {
      transports.at(-1)?.onerror?.(new Error("it crashed"));
      transports.at(-1)?.onclose?.();
    },
    connect: (): Transport => {
      const transport: Transport = {
        start: async () => undefined,
        async send(message) {
          const asked = message as Asked;
          const result = asked.method === "initialize" ? INTRODUCTION : { tools: server.tools };
          if (asked.method === "initialize" || asked.method === "tools/list") server.say({ id: asked.id, result });
          else hear(asked);
        },
        async close() {
          server.closed += 1;
          if (server.closesForever) await new Promise(() => undefined);
          throw new Error("It cannot be closed.");
        },
      };
      transports.push(transport);
      return transport;
    },
  };
  return server;
}

const INTRODUCTION = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {}, prompts: {}, resources: {} },
  serverInfo: { name: "a", version: "1" },
};
