import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:https";
import type { Duplex } from "node:stream";
import type { CertificateAuthority } from "./certificate-authority.ts";
import { serveOnLoopback } from "./serve-on-loopback.ts";

export type InterceptingProxy = AsyncDisposable & {
  readonly url: string;
  /** The hosts that were asked for, such as `registry.test:443` */
  readonly asked: readonly string[];
};

/** Starts a company's proxy: it shows certificates of an authority of its own in place of every server, and answers `404` for all of them. */
export async function createInterceptingProxy(
  authority: CertificateAuthority,
  ...names: readonly string[]
): Promise<InterceptingProxy> {
  const asked: string[] = [];
  const tunnels = new Set<Duplex>();
  const inside = createServer(await authority.issue(...names), (_, response) => response.writeHead(404).end());
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
