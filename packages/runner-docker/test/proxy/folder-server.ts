import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { join } from "node:path";
import { serveOnLoopback, type Identity, type LoopbackServer } from "@budgie/testkit";

/** A server on this machine's loopback that records its requests. */
export type RecordingServer = LoopbackServer & {
  /** Request lines without the version, such as `GET /page?lang=en` */
  readonly requests: readonly string[];
};

/** Serves the files of a folder over HTTP, or over HTTPS with an identity. */
export async function createFolderServer(folder: string, identity?: Identity): Promise<RecordingServer> {
  const requests: string[] = [];
  const respond = (request: IncomingMessage, response: ServerResponse): void => {
    requests.push(`${request.method} ${request.url}`);
    void send(join(folder, new URL(request.url ?? "", "http://folder").pathname), response);
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
