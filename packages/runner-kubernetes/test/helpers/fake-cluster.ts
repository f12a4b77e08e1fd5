import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { Duplex } from "node:stream";
import { WebSocketServer, type WebSocket } from "ws";
import { serveOnLoopback } from "@budgie/testkit";

/** An API server that knows only exec, and says what a test wants. */
export type FakeCluster = AsyncDisposable & {
  readonly server: string;
  /** The requests so far */
  readonly requests: IncomingMessage[];
};

/** The behaviour of a fake cluster. */
export type FakeClusterOptions = {
  /** Serves one exec */
  readonly onExec: (socket: WebSocket) => void;
  /** The answer in place of an exec, such as `403 Forbidden` */
  readonly refusal?: string;
  readonly protocol?: string | false;
};

/** Starts a fake cluster on the loopback interface. */
export async function startFakeCluster({
  onExec,
  protocol = "v5.channel.k8s.io",
  refusal,
}: FakeClusterOptions): Promise<FakeCluster> {
  const requests: IncomingMessage[] = [];
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => protocol });
  const server = createServer();
  server.on("upgrade", (request, socket, head) => {
    requests.push(request);
    socket.on("error", () => undefined);
    if (refusal !== undefined)
      return socket.end(`HTTP/1.1 ${refusal}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
    sockets.handleUpgrade(request, socket, head, (client) => {
      client.on("error", () => undefined);
      onExec(client);
    });
  });
  const loopback = await serveOnLoopback(server);
  return {
    server: `http://127.0.0.1:${loopback.port}`,
    requests,
    async [Symbol.asyncDispose]() {
      for (const client of sockets.clients) client.terminate();
      await loopback[Symbol.asyncDispose]();
    },
  };
}

/** Returns the Pod's end of an exec, whose connection breaks once it has carried so many bytes of stdout. */
export function toPodEnd(socket: WebSocket, most = Infinity): Duplex {
  let left = most;
  const end = new Duplex({
    read: () => undefined,
    write(chunk: Buffer, _encoding, done) {
      const part = chunk.subarray(0, left);
      left -= part.length;
      socket.send(Buffer.concat([Buffer.of(1), part]), () => {
        if (left === 0) socket.terminate();
        done();
      });
    },
    destroy(error, done) {
      socket.terminate();
      done(error);
    },
  });
  socket.on("message", (message: Buffer) => {
    if (message[0] === 0) end.push(message.subarray(1));
    else if (message[0] === 255) end.push(null);
  });
  void once(socket, "close").then(() => end.destroy());
  return end;
}
