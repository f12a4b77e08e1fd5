import type { IncomingMessage, ServerResponse } from "node:http";
import { isInitializeRequest, isJSONRPCRequest } from "@modelcontextprotocol/sdk/types.js";
import { findRevisionError } from "../connection/refuse-revision.ts";
import type { HttpLimits } from "./http-limits.ts";
import type { HttpSession, HttpClients } from "./http-sessions.ts";
import { refuse, sendJson, type Refusal } from "./send-json.ts";
import type { RequestGuard } from "./request-guard.ts";

export type AnswerOptions = {
  readonly guard: RequestGuard;
  /** Returns whether a request has the token. */
  readonly isAuthorized: (request: IncomingMessage) => boolean;
  readonly sessions: HttpClients;
  readonly limits: HttpLimits;
  readonly version: string;
};

export const MCP_PATH = "/mcp";

/** Answers an HTTP request, authenticated or not. */
export async function answerRequest(
  request: IncomingMessage,
  response: ServerResponse,
  options: AnswerOptions,
): Promise<void> {
  const { guard } = options;
  const refusal = guard.check(request);
  if (refusal !== undefined) return refuse(response, refusal);
  const cors = guard.toCorsHeaders(request);
  for (const [name, value] of Object.entries(cors)) response.setHeader(name, value);
  const [path] = (request.url ?? "").split("?", 1);
  switch (path ?? "") {
    case "/healthz":
      return answerHealth(request, response, options);
    case MCP_PATH:
      // Browsers send preflight requests without the token.
      if (request.method === "OPTIONS" && cors["vary"] !== undefined) return allowPage(request, response);
      return answerClient(request, response, options);
    default:
      return refuse(response, { status: 404, message: `There is nothing at this path. MCP is at ${MCP_PATH}.` });
  }
}

function answerHealth({ method }: IncomingMessage, response: ServerResponse, { version }: AnswerOptions): void {
  if (method !== "GET" && method !== "HEAD") return refuse(response, wrongMethod("GET, HEAD"));
  sendJson(response, { status: 200, body: { status: "ok", version } });
}

function allowPage({ headers }: IncomingMessage, response: ServerResponse): void {
  const isPrivate = headers["access-control-request-private-network"] === "true";
  response.writeHead(204, {
    "access-control-allow-methods": MCP_METHODS,
    "access-control-allow-headers":
      "Authorization, Content-Type, Accept, Mcp-Session-Id, Mcp-Protocol-Version, Last-Event-ID",
    "access-control-max-age": "600",
    ...(isPrivate ? { "access-control-allow-private-network": "true" } : {}),
  });
  response.end();
}

const MCP_METHODS = "GET, POST, DELETE";

async function answerClient(request: IncomingMessage, response: ServerResponse, options: AnswerOptions): Promise<void> {
  const { isAuthorized, sessions } = options;
  if (!isAuthorized(request)) return refuse(response, UNAUTHORIZED);
  if (!MCP_METHODS.split(", ").includes(request.method ?? "")) return refuse(response, wrongMethod(MCP_METHODS));
  const id = request.headers["mcp-session-id"];
  const known = typeof id === "string" ? sessions.find(id) : undefined;
  if (id !== undefined && known === undefined) return refuse(response, NO_SESSION);
  if (request.method === "POST") return answerPost(request, response, { ...options, known });
  return known === undefined ? refuse(response, NO_ID) : known.handle({ request, response });
}

async function answerPost(
  request: IncomingMessage,
  response: ServerResponse,
  { known, limits, sessions }: AnswerOptions & { readonly known: HttpSession | undefined },
): Promise<void> {
  const read = await (known ?? sessions).inbox.read(request);
  if ("refusal" in read) return refuse(response, read.refusal);
  const { body, release } = read;
  if (known !== undefined) return known.handle({ request, response, body, release });
  release();
  // Some clients send other requests before `initialize`; these must not create a session.
  if (!isInitializeRequest(body)) return refuse(response, unbegun(body));
  const session = await sessions.begin();
  return session === undefined ? refuse(response, tooMany(limits)) : session.handle({ request, response, body });
}

const UNAUTHORIZED: Refusal = {
  status: 401,
  message:
    "The bearer token is missing or wrong. It comes from BUDGIE_HTTP_TOKEN or --http-token-file, or budgie printed it at its start.",
  headers: { "www-authenticate": "Bearer" },
};
const NO_SESSION: Refusal = {
  status: 404,
  code: -32_001,
  message: "There is no such session. It may have ended, or expired unused. Begin a new one with initialize.",
};
const NO_ID: Refusal = {
  status: 400,
  message: "The header Mcp-Session-Id is missing, and this is not an initialize request.",
};

/** Returns the refusal of a request that neither names a session nor begins one. */
function unbegun(body: unknown): Refusal {
  if (!isJSONRPCRequest(body)) return NO_ID;
  const error = findRevisionError(body);
  return error === undefined ? NO_ID : { status: 400, id: body.id, ...error };
}

function wrongMethod(allowed: string): Refusal {
  return { status: 405, message: `Only ${allowed} can be used here.`, headers: { allow: allowed } };
}

function tooMany({ sessions }: HttpLimits): Refusal {
  return {
    status: 503,
    message: `There are ${sessions} sessions, which is the limit. End one with DELETE, or wait until an unused one expires.`,
    headers: { "retry-after": "60" },
  };
}
