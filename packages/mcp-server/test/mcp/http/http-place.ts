import { connect as dial, createServer, type AddressInfo, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { DeliveryState } from "../../../src/mcp/connection/client-transport.ts";
import { createConnection } from "../../../src/mcp/connection/connection.ts";
import { HTTP_LIMITS, type HttpLimits } from "../../../src/mcp/http/http-limits.ts";
import { createHttpServer, type HttpServerOptions } from "../../../src/mcp/http/http-server.ts";
import type { ClientTools } from "../../../src/mcp/calls/call-tool.ts";
import { HEADERS, TOKEN } from "./start-http-budgie.ts";

/** A call of the tool `work` that is in the tool's hands. */
type Work = {
  readonly signal: AbortSignal | undefined;
  /** Says that it has got somewhere new */
  readonly progress: (where: string) => void;
  readonly finish: (answer?: string) => void;
};

/** A server over HTTP in this process, with one tool that a test plays. */
export type HttpPlace = {
  readonly url: URL;
  readonly works: readonly Work[];
  /** What became of answers, as the run log is told */
  readonly deliveries: readonly { readonly runId: string; readonly state: DeliveryState }[];
  /** How many clients' things were ended */
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
  /** Called when there is an event that the client could come back to */
  readonly onresumptiontoken?: () => void;
};

type RawRequest = {
  readonly method: string;
  readonly path?: string;
  /** Besides those that every MCP client sends; `undefined` leaves one out */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: string | ReadableStream;
  readonly signal?: AbortSignal;
};

type PlaceOptions = Partial<Pick<HttpServerOptions, "allowedHosts" | "allowedOrigins" | "sessionTtlMs">> & {
  readonly limits?: Partial<HttpLimits>;
};

/** Creates the place; it goes, with its clients, when the test ends. */
export async function createHttpPlace({ limits, ...options }: PlaceOptions = {}): Promise<HttpPlace> {
  const works: Work[] = [];
  const deliveries: { runId: string; state: DeliveryState }[] = [];
  const reports: string[] = [];
  let ended = 0;

  const createTools = (): ClientTools => ({
    definitions: () => [{ name: "work", inputSchema: { type: "object" } }],
    call(name, _input, { onProgress, signal }) {
      if (name !== "work") return undefined;
      return new Promise((resolve) => {
        const runId = `run-${works.length}`;
        const finish = (text = "done"): void =>
          resolve({ content: [{ type: "text", text }], structuredContent: { status: "done", runId } });
        signal?.addEventListener("abort", () => finish("aborted"));
        let tries = 0;
        const progress = (agent: string): void =>
          onProgress?.({ agent, runId, sessionId: undefined, phase: "running", attempt: ++tries, sinceMs: 0 });
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
        createTools,
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

async function connectTo(url: URL): Promise<PlaceClient> {
  const client = new Client({ name: "test", version: "1.0.0" });
  const transport = new StreamableHTTPClientTransport(url, {
    requestInit: { headers: { authorization: `Bearer ${TOKEN}` } },
    reconnectionOptions: {
      initialReconnectionDelay: 50,
      maxReconnectionDelay: 50,
      reconnectionDelayGrowFactor: 1,
      maxRetries: 5,
    },
  });
  // Its optional sessionId is not what strict optional properties would have.
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  onTestFinished(() => client.close());
  return {
    client,
    transport,
    work: (options = {}) => client.callTool({ name: "work" }, undefined, options) as Promise<CallToolResult>,
  };
}

/** A way to a server that can be cut, as a network is. */
export type Wire = {
  readonly url: URL;
  /** Destroys what is connected now; what comes after it gets through */
  readonly cut: () => void;
  /** What went to the server, as text */
  readonly sent: () => string;
};

/** Creates the way to a server; it goes when the test ends. */
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
