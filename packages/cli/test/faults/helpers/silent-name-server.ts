import { createSocket } from "node:dgram";
import { once } from "node:events";

/** A name server that receives queries and answers none. */
export type SilentNameServer = AsyncDisposable & {
  /** Makes it the only name server of a budgie */
  readonly variables: Readonly<Record<string, string>>;
  /** The queried names */
  readonly asked: ReadonlySet<string>;
};

export async function startSilentNameServer(): Promise<SilentNameServer> {
  const socket = createSocket("udp4");
  const asked = new Set<string>();
  socket.on("message", (message) => asked.add(toName(message)));
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const preload = `
    import { Resolver } from "node:dns/promises";
    const { resolve4 } = Resolver.prototype;
    Resolver.prototype.resolve4 = function (...question) {
      this.setServers(["127.0.0.1:${socket.address().port}"]);
      return resolve4.apply(this, question);
    };`;
  return {
    variables: { NODE_OPTIONS: `--import=data:text/javascript;base64,${Buffer.from(preload).toString("base64")}` },
    asked,
    [Symbol.asyncDispose]: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

/** Returns the name in a query, which begins after the header: labels with their lengths, up to an empty one. */
function toName(message: Buffer): string {
  const labels: string[] = [];
  for (let at = 12, length = message[at] ?? 0; length > 0; at += length + 1, length = message[at] ?? 0) {
    labels.push(message.toString("latin1", at + 1, at + 1 + length));
  }
  return labels.join(".");
}
