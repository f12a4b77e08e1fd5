import { once } from "node:events";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Identity } from "@budgie/testkit";

/** The files of a folder, served on this machine's loopback. */
export type FolderServer = AsyncDisposable & {
  readonly port: number;
  /** The paths that were asked for */
  readonly requests: readonly string[];
};

/** Serves a folder over HTTP, or over HTTPS to who is given an identity. */
export async function createFolderServer(folder: string, identity?: Identity): Promise<FolderServer> {
  const requests: string[] = [];
  const respond = (request: IncomingMessage, response: ServerResponse): void => {
    const { pathname } = new URL(request.url ?? "", "http://folder");
    requests.push(pathname);
    void send(join(folder, pathname), response);
  };
  const server = identity === undefined ? createServer(respond) : createSecureServer(identity, respond);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

async function send(path: string, response: ServerResponse): Promise<void> {
  const stats = await stat(path).catch(() => undefined);
  if (stats?.isFile() !== true) {
    response.writeHead(404).end("There is no such file.\n");
    return;
  }
  response.writeHead(200, { "content-length": stats.size });
  createReadStream(path).pipe(response);
}
