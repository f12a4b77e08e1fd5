import { createServer } from "node:http";
import type { AgentCard } from "@a2a-js/sdk";
import { serveOnLoopback } from "../serve-on-loopback.ts";
import { createKagentApi, type ListedAgent } from "./kagent-api.ts";
import { createScriptedExecutor } from "./scripted-executor.ts";

/** A backend with the routes of kagent. The official A2A SDK serves its agents. */
export type KagentServer = AsyncDisposable & {
  readonly url: string;
  readonly agentUrl: (name: string) => string;
  /** Replaces the agents that it lists. */
  readonly list: (agents: readonly ListedAgent[]) => void;
  /** The number of requests for its list of agents */
  readonly asked: () => number;
  /** The names of the methods that were called */
  readonly calls: readonly string[];
};

export type KagentServerOptions = {
  readonly agents?: readonly ListedAgent[];
  /** Default `0.10`, which lists agents as JSON; `1.0` lists them over gRPC-Web, and serves them at another address */
  readonly kagent?: "0.10" | "1.0" | undefined;
  /** Namespaces of kagent 1.0 that its user may not see */
  readonly secretNamespaces?: readonly string[];
  /** The only version that the cards name; default both */
  readonly version?: "0.3" | "1.0" | undefined;
  /** Default true */
  readonly streaming?: boolean;
  /** The header `authorization` that it requires; default none */
  readonly authorization?: string;
};

const NAMESPACE = "kagent";
// The address of the agents in their cards, in a cluster's own network.
const INSIDE = "http://agents.cluster.local:8080";

/** Starts a backend whose agents run {@link createScriptedExecutor}. */
export async function startKagentServer(options: KagentServerOptions = {}): Promise<KagentServer> {
  const { authorization, kagent, secretNamespaces, streaming = true, version } = options;
  const { default: express } = await import("express");
  const { DefaultRequestHandler, InMemoryTaskStore } = await import("@a2a-js/sdk/server");
  const { jsonRpcHandler, UserBuilder } = await import("@a2a-js/sdk/server/express");
  const calls: string[] = [];
  let agents = options.agents ?? [{ name: "k8s-agent" }];
  let asked = 0;

  const handler = new DefaultRequestHandler(toCard(streaming), new InMemoryTaskStore(), await createScriptedExecutor());
  const app = express();
  const room = kagent === "1.0" ? "/agents" : "/api/a2a";
  app.use((request, response, next) => {
    if (authorization === undefined || request.headers.authorization === authorization) return next();
    response.status(401).json({ error: "who are you?" });
  });
  if (kagent !== "1.0")
    app.get("/api/agents", (_request, response) => {
      asked++;
      response.json({ error: false, message: "", data: agents.map(toEntry) });
    });
  app.use(`${room}/:namespace/:name`, (request, response, next) => {
    if (agents.some(({ name }) => name === request.params.name)) return next();
    response.status(404).json({ error: "no such agent" });
  });
  app.get(`${room}/:namespace/:name/.well-known/agent-card.json`, (_request, response) => {
    response.json(version === "0.3" ? toOldCard(streaming) : toNewCard(streaming, version));
  });
  app.use(`${room}/:namespace/:name`, express.json(), (request, response, next) => {
    calls.push(String((request.body as { readonly method?: unknown } | undefined)?.method));
    if (!JSON.stringify(request.body).includes("[[crash]]")) return next();
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(": The connection ends here.\n\n", () => response.destroy());
  });
  app.use(
    `${room}/:namespace/:name`,
    jsonRpcHandler({
      requestHandler: handler,
      userBuilder: UserBuilder.noAuthentication,
      legacyCompat: { enabled: true },
    }),
  );
  const api = await createKagentApi({
    namespace: NAMESPACE,
    agents: () => agents,
    onCall: (method) => void (asked += method === "ListAgents" ? 1 : 0),
    authorization,
    secretNamespaces,
    fallback: app,
  });
  const server = await serveOnLoopback(createServer(kagent === "1.0" ? api : app));
  const url = `http://127.0.0.1:${server.port}`;
  return {
    url,
    agentUrl: (name) => `${url}${room}/${NAMESPACE}/${name}${kagent === "1.0" ? "" : "/"}`,
    list: (now) => void (agents = now),
    asked: () => asked,
    calls,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function toEntry({ accepted = true, description = "", name, ready = true }: ListedAgent) {
  return {
    id: `${NAMESPACE}__NS__${name.replaceAll("-", "_")}`,
    agent: { metadata: { name, namespace: NAMESPACE }, spec: { description } },
    accepted,
    deploymentReady: ready,
  };
}

function toCard(streaming: boolean): AgentCard {
  return {
    name: "k8s_agent",
    description: "Answers about a cluster",
    version: "1",
    supportedInterfaces: ["1.0", "0.3"].map(toInterface),
    provider: undefined,
    capabilities: { streaming, extensions: [] },
    defaultInputModes: ["text"],
    defaultOutputModes: ["text"],
    skills: [],
    securitySchemes: {},
    securityRequirements: [],
    signatures: [],
  };
}

function toInterface(protocolVersion: string) {
  return { url: INSIDE, protocolBinding: "JSONRPC", protocolVersion, tenant: "" };
}

function toNewCard(streaming: boolean, version: string | undefined) {
  const { supportedInterfaces, ...card } = toCard(streaming);
  const spoken = supportedInterfaces.filter(({ protocolVersion }) => [undefined, protocolVersion].includes(version));
  return { ...card, supportedInterfaces: spoken };
}

/** Returns a card in the shape of 0.3. */
function toOldCard(streaming: boolean) {
  return {
    name: "k8s_agent",
    description: "Answers about a cluster",
    version: "1",
    protocolVersion: "0.3.0",
    url: INSIDE,
    preferredTransport: "JSONRPC",
    capabilities: { streaming },
    defaultInputModes: ["text"],
    defaultOutputModes: ["text"],
    skills: [],
  };
}
