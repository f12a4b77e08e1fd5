import { rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import type { SessionProxy, EgressProxy } from "@budgie/egress";

// The total for all sessions during the proxy's life, so that one session can use them all up.
const MOST_CONNECTIONS = 2_000;

/** Connects to the requested `host:port`, or returns `undefined` to refuse it. */
export type ConnectTo = (host: string) => Socket | undefined | Promise<Socket | undefined>;

/** Creates a proxy that inspects nothing and forwards everything over the connections of `connectTo`. */
export function createCarelessProxy(connectTo: ConnectTo): EgressProxy {
  const sockets = new Set<Socket>();
  const servers = new Set<Server>();
  let served = 0;

  function serve(client: Socket): void {
    client.on("error", () => client.destroy());
    if (++served > MOST_CONNECTIONS) return void client.destroy();
    sockets.add(client.on("close", () => sockets.delete(client)));
    client.once("data", (bytes) => {
      client.pause();
      const asked = understand(bytes);
      if (asked === undefined) return void client.end("HTTP/1.1 400 Bad Request\r\n\r\n");
      void passOn(client, asked, connectTo);
    });
  }

  const closeServer = async (server: Server): Promise<void> => {
    servers.delete(server);
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    async open({ socketPath }): Promise<SessionProxy> {
      rmSync(socketPath, { force: true });
      const server = createServer(serve);
      servers.add(server);
      await new Promise<void>((resolve) => server.listen(socketPath, resolve));
      return {
        setPolicy: async () => undefined,
        take: async () => ({ allowed: [], denied: [] }),
        close: () => closeServer(server),
      };
    },
    async close() {
      await Promise.all([...servers].map(closeServer));
    },
  };
}

async function passOn(client: Socket, asked: Asked, connectTo: ConnectTo): Promise<void> {
  const host = await connectTo(asked.host);
  if (host === undefined) return void client.end("HTTP/1.1 403 Forbidden\r\n\r\n");
  host.on("error", () => client.destroy()).on("close", () => client.destroy());
  client.on("close", () => host.destroy());
  client.write(asked.answer);
  host.write(asked.passOn);
  client.pipe(host);
  host.pipe(client);
}

type Asked = { readonly host: string; readonly answer: Buffer | string; readonly passOn: Buffer | string };

/** Parses SOCKS 4a, CONNECT, a proxy request or an origin request. */
function understand(bytes: Buffer): Asked | undefined {
  if (bytes[0] === 4) return understandSocks(bytes);
  const text = bytes.toString("latin1");
  if (text.startsWith("CONNECT ")) return understandConnect(text);
  const [, method = "", target = "", rest = ""] = /^(\S+) (\S+) HTTP\/1\.1([^]*)$/.exec(text) ?? [];
  const url = toUrl(target, `http://${/^host:[ \t]*(\S+)/im.exec(rest)?.[1]}`);
  if (url === undefined) return undefined;
  return { host: url.host, answer: "", passOn: Buffer.from(`${method} ${url.pathname} HTTP/1.1${rest}`, "latin1") };
}

function understandSocks(bytes: Buffer): Asked {
  const end = bytes.indexOf(0, 9);
  const host = `${bytes.toString("latin1", 9, end)}:${bytes.readUInt16BE(2)}`;
  return { host, answer: Buffer.from([0, 90, 0, 0, 0, 0, 0, 0]), passOn: bytes.subarray(end + 1) };
}

function understandConnect(text: string): Asked | undefined {
  const [head = "", target = ""] = /^CONNECT (\S+)[^]*?\r\n\r\n/.exec(text) ?? [];
  const url = toUrl(`http://${target}`);
  const passOn = Buffer.from(text.slice(head.length), "latin1");
  return url && { host: url.host, answer: "HTTP/1.1 200 OK\r\n\r\n", passOn };
}

function toUrl(text: string, base?: string): URL | undefined {
  return URL.canParse(text, base) ? new URL(text, base) : undefined;
}
