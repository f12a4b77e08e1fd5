import { connect as dial, createServer, type AddressInfo, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { DeliveryState } from "../../../src/mcp/connection/client-transport.ts";
import { createConnection } from "../../../src/mcp/connection/connection.ts";
import { HTTP_LIMITS, type HttpLimits } from "../../../src/mcp/http/http-limits.ts";
import { createHttpServer, type HttpServerOptions } from "../../../src/mcp/http/http-server.ts";
import type { ClientTools } from "../../../src/mcp/calls/client-tools.ts";
import { HEADERS, TOKEN } from "./start-http-budgie.ts";

/** A running call of the tool `work`. */
type Work = {
  readonly signal: AbortSignal | undefined;
  /** Reports progress */
  readonly progress: (where: string) => void;
  readonly finish: (answer?: string) => void;
};

/** A server over HTTP in this process, with one tool that the test controls. */
export type HttpPlace = {
  readonly url: URL;
  readonly works: readonly Work[];
  /** Delivery states of answers, as reported to the run log */
  readonly deliveries: readonly { readonly runId: string; readonly state: DeliveryState }[];
  /** Number of clients whose resources were released */
  readonly ended: () => number;
  readonly reports: readonly string[];
  readonly notifyToolListChanged: () => void;
  readonly close: () => Promise<void>;
  readonly connect: (url?: URL) => Promise<PlaceClient>;
  readonly send: (request: RawRequest) => Promise<Response>;
};

export type PlaceClient = {
  readonly client: Client;
  readonly transport: StreamableHTTPClientTransport;
  readonly work: (options?: WorkOptions) => Promise<CallToolResult>;
};

type WorkOptions = {
  readonly signal?: AbortSignal;
  /** Called at each event that the client could resume from */
  readonly onresumptiontoken?: () => void;
};

type RawRequest = {
  readonly method: string;
  readonly path?: string;
  /** Headers besides those that every MCP client sends; `undefined` leaves one out */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: string | ReadableStream;
  readonly signal?: AbortSignal;
};

type PlaceOptions = Partial<Pick<HttpServerOptions, "allowedHosts" | "allowedOrigins" | "sessionTtlMs">> & {
  readonly limits?: Partial<HttpLimits>;
  /** Replaces the tool that the test controls */
  readonly tools?: ClientTools;
};

/** Creates the place; it is closed, with its clients, when the test ends. */
export async function createHttpPlace({ limits, tools, ...options }: PlaceOptions = {}): Promise<HttpPlace> {
  const works: Work[] = [];
  const deliveries: { runId: string; state: DeliveryState }[] = [];
  const reports: string[] = [];
  let ended = 0;

  const createTools = (): ClientTools => ({
    definitions: () => [{ name: "work", inputSchema: { type: "object" } }],
    call(name, _input, { events, signal }) {
      if (name !== "work") return undefined;
      return new Promise((resolve) => {
        const runId = `run-${works.length}`;
        const finish = (text = "done"): void =>
          resolve({ content: [{ type: "text", text }], structuredContent: { status: "done", runId } });
        signal?.addEventListener("abort", () => finish("aborted"));
        let tries = 0;
        const progress = (agent: string): void =>
          void events?.emit("phase", {
            agent,
            runId,
            sessionId: undefined,
            phase: "running",
            attempt: ++tries,
            sinceMs: 0,
          });
        works.push({ signal, progress, finish });
      });
    },
    stop: () => undefined,
    async close() {
      ended++;
    },
  });
  const server = createHttpServer({
    host: "127.0.0.1",
    port: 0,
    token: TOKEN,
    allowedHosts: [],
    allowedOrigins: [],
    sessionTtlMs: 60_000,
    version: "1.2.3",
    report: (line) => void reports.push(line),
    connect: (transport, onClientClosed) =>
      createConnection({
        version: "1.2.3",
        transport,
        createTools: () => tools ?? createTools(),
        instructions: "",
        heartbeatMs: 60_000,
        report: (line) => void reports.push(line),
        onDelivery: (runIds, state) => void deliveries.push(...runIds.map((runId) => ({ runId, state }))),
        onClientClosed,
      }),
    ...options,
    limits: { ...HTTP_LIMITS, ...limits },
  });
  await server.start();
  const url = new URL(/http:\S+/.exec(reports.join("\n"))?.[0] ?? "");
  onTestFinished(() => server.close());

  return {
    url,
    works,
    deliveries,
    ended: () => ended,
    reports,
    notifyToolListChanged: server.notifyToolListChanged,
    close: server.close,
    connect: (to = url) => connectTo(to),
    send: ({ headers = {}, path = "/mcp", ...request }) => {
      const all = Object.entries({ ...HEADERS, ...headers }).flatMap(([name, value]): [string, string][] =>
        value === undefined ? [] : [[name, value]],
      );
      const streaming = request.body instanceof ReadableStream ? { duplex: "half" as const } : {};
      return fetch(new URL(path, url), { ...request, ...streaming, headers: all });
    },
  };
}

/** Connects a client, which ends with the test. `send` replaces `fetch`. */
export async function connectTo(
  url: URL,
  client = new Client({ name: "test", version: "1.0.0" }),
  send: typeof fetch = fetch,
): Promise<PlaceClient> {
  const transport = new StreamableHTTPClientTransport(url, {
    fetch: send,
    requestInit: { headers: { authorization: `Bearer ${TOKEN}` } },
    reconnectionOptions: {
      initialReconnectionDelay: 50,
      maxReconnectionDelay: 50,
      reconnectionDelayGrowFactor: 1,
      maxRetries: 5,
    },
  });
  // Its optional sessionId does not fit strict optional properties.
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  onTestFinished(() => client.close());
  return {
    client,
    transport,
    work: (options = {}) => client.callTool({ name: "work" }, undefined, options) as Promise<CallToolResult>,
  };
}

/** A connection to a server that can be cut, like a network. */
export type Wire = {
  readonly url: URL;
  /** Destroys the open connections; later ones get through */
  readonly cut: () => void;
  /** The text that was sent to the server */
  readonly sent: () => string;
};

/** Creates the connection to a server; it is closed when the test ends. */
export async function createWire(to: URL): Promise<Wire> {
  const sockets = new Set<Socket>();
  let sent = "";
  const server = createServer((near) => {
    const far = dial(Number(to.port), to.hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    }
    near.on("data", (piece: Buffer) => (sent += piece.toString("latin1")));
    near.on("close", () => far.destroy()).pipe(far);
    far.on("close", () => near.destroy()).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  onTestFinished(() => {
    server.close();
    cut();
  });
  const { port } = server.address() as AddressInfo;
  return { url: new URL(`http://127.0.0.1:${port}${to.pathname}`), cut, sent: () => sent };
}
