import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Duplex } from "node:stream";
import type { EngineAddress } from "./find-engine.ts";

const ATTACH_LIMIT_MS = 15_000;

/**
 * Attaches to a container's stdin and output; call it before the start, or early output is lost. It does not go through
 * dockerode, which sends its options as a request body that Podman hands to the container as stdin.
 */
export function attach(address: EngineAddress, containerId: string): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const request = open(address, `/containers/${containerId}/attach?stream=1&stdin=1&stdout=1&stderr=1`);
    request.once("upgrade", (_response, socket, head) => {
      if (head.length > 0) socket.unshift(head);
      socket.setTimeout(0);
      resolve(socket);
    });
    request.once("response", (response) => {
      response.resume();
      const refusal = new Error(`The engine refused to attach to a container (HTTP ${response.statusCode}).`);
      reject(Object.assign(refusal, { statusCode: response.statusCode }));
    });
    request.once("error", reject);
    request.setTimeout(ATTACH_LIMIT_MS, () =>
      request.destroy(Object.assign(new Error("timeout"), { name: "TimeoutError" })),
    );
    request.end();
  });
}

function open(address: EngineAddress, path: string) {
  const headers = { Host: "engine", Connection: "Upgrade", Upgrade: "tcp", "Content-Length": 0 };
  const common = { method: "POST", path, headers, agent: false } as const;
  if ("socketPath" in address) return requestHttp({ ...common, socketPath: address.socketPath });
  const { host, port, protocol, tls } = address;
  return protocol === "https"
    ? requestHttps({ ...common, host, port, ...tls })
    : requestHttp({ ...common, host, port });
}
