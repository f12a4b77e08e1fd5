import { type ClientRequest, type IncomingMessage, request as requestHttp, type RequestOptions } from "node:http";
import { connect } from "node:net";
import { getBuiltinModule } from "node:process";
import { text } from "node:stream/consumers";
import { findSshConnections } from "../ssh/find-ssh-connections.ts";
import type { EngineAddress } from "./find-endpoints.ts";

/** Gets a JSON resource of an engine without dockerode, which takes longer to load than an engine to answer. */
export async function getJson<T>(address: EngineAddress, path: string, signal: AbortSignal): Promise<T> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    requestEngine(address, { path, signal }).once("response", resolve).once("error", reject).end();
  });
  const { statusCode } = response;
  const answer = parseValue(await text(response));
  if (statusCode === 200) return answer as T;
  const { message = "" } = Object(answer) as { readonly message?: string };
  throw Object.assign(new Error(`(HTTP code ${statusCode}) ${message}`), { statusCode, json: answer });
}

/** Parses an answer. Returns text that is not JSON unchanged: no engine sends it, and the caller finds no field in it. */
function parseValue(said: string): unknown {
  try {
    return JSON.parse(said);
  } catch {
    return said;
  }
}

type EngineRequest = Pick<RequestOptions, "method" | "path" | "signal"> & {
  readonly headers?: Readonly<Record<string, string | number>>;
};

/** Starts a request to an engine, on a new connection where that costs little. */
export function requestEngine(address: EngineAddress, options: EngineRequest): ClientRequest {
  const own = { ...options, headers: { Host: "engine", ...options.headers } };
  if ("socketPath" in address) {
    // Node's HTTP agent would first check whether the host is an IP address, which takes as long as the engine's answer.
    return requestHttp({ ...own, createConnection: () => connect(address.socketPath) });
  }
  if ("ssh" in address) return requestHttp({ ...own, agent: findSshConnections(address) });
  const { host, port, protocol, tls } = address;
  if (protocol === "http") return requestHttp({ ...own, host, port, agent: false });
  // Most engines need no TLS, so it is loaded on demand.
  return getBuiltinModule("node:https").request({ ...own, host, port, ...tls, agent: false });
}
