import { readFile } from "node:fs/promises";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer, request } from "node:https";
import type { Duplex } from "node:stream";
import type { CertificateAuthority } from "./certificate-authority.ts";
import { serveOnLoopback } from "./serve-on-loopback.ts";

export type InterceptingProxy = AsyncDisposable & {
  readonly url: string;
  /** The hosts that were asked for, such as `registry.test:443` */
  readonly asked: readonly string[];
};

/** The ports of HTTPS servers on loopback, with certificates of the same authority, by host name; `undefined` answers `404`. */
type Servers = Readonly<Record<string, number | undefined>>;

/** Starts a company's proxy: it shows certificates of an authority of its own in place of every server's, and reads and passes on what is said. */
export async function createInterceptingProxy(
  authority: CertificateAuthority,
  servers: Servers,
): Promise<InterceptingProxy> {
  const asked: string[] = [];
  const tunnels = new Set<Duplex>();
  const ca = await readFile(authority.file);
  const inside = createServer(await authority.issue(...Object.keys(servers)), (asking, response) => {
    const servername = asking.headers.host ?? "";
    passOn(asking, response, { ca, servername, port: servers[servername] });
  });
  const proxy = createHttpServer().on("connect", ({ url = "" }, socket: Duplex) => {
    asked.push(url);
    tunnels.add(socket);
    socket.on("error", () => undefined);
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    inside.emit("connection", socket);
  });
  const served = await serveOnLoopback(proxy);
  return {
    url: `http://127.0.0.1:${served.port}`,
    asked,
    async [Symbol.asyncDispose]() {
      for (const tunnel of tunnels) tunnel.destroy();
      await served[Symbol.asyncDispose]();
    },
  };
}

type Target = { readonly ca: Buffer; readonly servername: string; readonly port: number | undefined };

function passOn(asking: IncomingMessage, response: ServerResponse, { port, ...trust }: Target): void {
  if (port === undefined) return void response.writeHead(404).end();
  const { headers, method, url: path } = asking;
  const passed = request({ ...trust, host: "127.0.0.1", port, path, method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  asking.pipe(passed.on("error", () => response.destroy()));
}
