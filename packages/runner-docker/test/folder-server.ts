import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { join } from "node:path";
import { serveOnLoopback, type Identity, type LoopbackServer } from "@budgie/testkit";

/** The files of a folder, served on this machine's loopback. */
export type FolderServer = LoopbackServer & {
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
  return { ...(await serveOnLoopback(server)), requests };
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
