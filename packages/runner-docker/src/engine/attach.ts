import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import type { EngineAddress } from "./find-endpoints.ts";
import { requestEngine } from "./request-engine.ts";

const ATTACH_LIMIT_MS = 15_000;
const UPGRADE = { Connection: "Upgrade", Upgrade: "tcp", "Content-Length": 0 };

/**
 * Attaches to a container's stdin and output. Call it before the container starts, or early output is lost. It bypasses
 * dockerode, which sends the options as a request body that Podman passes to the container as stdin.
 */
export function attach(address: EngineAddress, containerId: string): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const path = `/containers/${containerId}/attach?stream=1&stdin=1&stdout=1&stderr=1`;
    const request = requestEngine(address, { method: "POST", path, headers: UPGRADE });
    request.once("upgrade", (_response, socket, head) => {
      if (head.length > 0) socket.unshift(head);
      // An error before the first read must not end the program. The reader sees that the socket is closed.
      socket.on("error", () => undefined);
      socket.setTimeout(0);
      resolve(socket);
    });
    request.once("response", (response) => {
      readRefusal(response).then(reject, reject);
    });
    request.once("error", reject);
    request.setTimeout(ATTACH_LIMIT_MS, () =>
      request.destroy(Object.assign(new Error("timeout"), { name: "TimeoutError" })),
    );
    request.end();
  });
}

async function readRefusal(response: IncomingMessage): Promise<Error> {
  const message = parseMessage(await text(response));
  return Object.assign(new Error(`it would not attach to a container: ${message}`), {
    statusCode: response.statusCode,
  });
}

/** Returns the engine's message. Docker reports a missing container as plain text, and all other errors as JSON. */
function parseMessage(said: string): string {
  try {
    return (JSON.parse(said) as { readonly message?: string }).message ?? said;
  } catch {
    return said.trim();
  }
}
