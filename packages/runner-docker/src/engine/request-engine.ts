import { request as requestHttp, type ClientRequest, type RequestOptions } from "node:http";
import { connect } from "node:net";
import { getBuiltinModule } from "node:process";
import type { EngineAddress } from "./find-engine.ts";

type EngineRequest = Pick<RequestOptions, "method" | "path" | "signal"> & {
  readonly headers?: Readonly<Record<string, string | number>>;
};

/** Begins a request to an engine, on a connection of its own. */
export function requestEngine(address: EngineAddress, options: EngineRequest): ClientRequest {
  const own = { ...options, headers: { Host: "engine", ...options.headers } };
  if ("socketPath" in address) {
    // An agent of Node's would look first whether the host is an IP address, which takes as long as the engine's answer.
    return requestHttp({ ...own, createConnection: () => connect(address.socketPath) });
  }
  const { host, port, protocol, tls } = address;
  if (protocol === "http") return requestHttp({ ...own, host, port, agent: false });
  // Most engines need no TLS, and a start does not wait for it to load.
  return getBuiltinModule("node:https").request({ ...own, host, port, ...tls, agent: false });
}
