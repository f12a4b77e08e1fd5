import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { RequestOptions } from "@modelcontextprotocol/sdk/shared/protocol.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { ServerCapabilities } from "@modelcontextprotocol/sdk/types.js";
import type { JsonSchemaValidator, jsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/types.js";
import type { z } from "zod";
import { withBounds, type TransportEvents } from "../bounds/with-bounds.ts";
import { withSignal } from "../transport/with-signal.ts";

/** A connection to a server, after `initialize`. */
export type Connection = {
  readonly capabilities: ServerCapabilities;
  /** Sends a request. The result has the shape that `schema` reads. */
  readonly request: <Shape extends z.ZodType>(
    request: McpRequest,
    schema: Shape,
    options: RequestOptions,
  ) => Promise<z.infer<Shape>>;
  readonly close: () => Promise<void>;
};

/** One request to a server, with its MCP method. */
export type McpRequest = { readonly method: string; readonly params?: Readonly<Record<string, unknown>> };

export type ConnectionEvents = TransportEvents & {
  /** Called when the connection ends without a call of `close` */
  readonly ended: (reason: unknown) => void;
};

export type ConnectionOptions = {
  readonly client: { readonly name: string; readonly version: string };
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
};

/** Connects to a server. Offers it no capability: neither sampling, nor elicitation, nor roots. */
export async function openConnection(
  transport: Transport,
  events: ConnectionEvents,
  { client: info, signal, timeoutMs }: ConnectionOptions,
): Promise<Connection> {
  const client = new Client(info, { capabilities: {}, jsonSchemaValidator: ANYTHING });
  let reason: unknown;
  let isClosing = false;
  client.onerror = (error) => void (reason = error);
  client.onclose = () => {
    if (!isClosing) events.ended(reason ?? new Error("it closed the connection"));
  };
  const close = async (): Promise<void> => {
    isClosing = true;
    await client.close();
    // The client closes a transport only if it is connected.
    await transport.close();
  };
  const bounded = withBounds(transport, events);
  try {
    // The SDK ignores the signal until it sends the first request.
    await withSignal(client.connect(bounded, { timeout: timeoutMs, signal }), signal);
  } catch (error) {
    const why = isGeneral(error) ? (reason ?? error) : error;
    await close();
    throw why;
  }
  return {
    capabilities: client.getServerCapabilities() ?? {},
    request: (request, schema, options) =>
      client.request(request as Parameters<typeof client.request>[0], schema, options) as Promise<never>,
    close,
  };
}

/** Tells whether an error says only that the connection ended; the transport may know why. */
function isGeneral(error: unknown): boolean {
  return (error as { readonly code?: unknown }).code === -32_000;
}

/** A validator that accepts everything, since compiling a server's own schemas can take minutes. */
export const ANYTHING: jsonSchemaValidator = {
  getValidator<Value>(): JsonSchemaValidator<Value> {
    return (input) => ({ valid: true, data: input as Value, errorMessage: undefined });
  },
};
