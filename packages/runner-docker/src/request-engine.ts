import { request as requestHttp, type ClientRequest, type RequestOptions } from "node:http";
import { request as requestHttps } from "node:https";
import type { EngineAddress } from "./find-engine.ts";

type EngineRequest = Pick<RequestOptions, "method" | "path" | "signal"> & {
  readonly headers?: Readonly<Record<string, string | number>>;
};

/** Begins a request to an engine, on a connection of its own. */
export function requestEngine(address: EngineAddress, options: EngineRequest): ClientRequest {
  const own = { ...options, headers: { Host: "engine", ...options.headers }, agent: false } as const;
  if ("socketPath" in address) return requestHttp({ ...own, socketPath: address.socketPath });
  const { host, port, protocol, tls } = address;
  return protocol === "https" ? requestHttps({ ...own, host, port, ...tls }) : requestHttp({ ...own, host, port });
}
