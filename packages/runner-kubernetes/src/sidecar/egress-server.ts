import { createServer, type Server, type Socket } from "node:net";
import { joinSocket } from "../egress/join-socket.ts";
import type { WireStream } from "../wire/wire-stream.ts";

/** The most connections of an agent that are on the wire at once. */
const MOST_CONNECTIONS = 48;
const MOST_WAITING = 256;

/** The listener of an agent's connections. */
export type EgressServer = {
  readonly server: Server;
  /** Closes all connections, since the process has ended whose they were */
  readonly drop: () => void;
};

/** Creates the listener of an agent's connections. Each becomes a stream of the wire; more than 48 wait for their turn. */
export function createEgressServer(open: () => WireStream): EgressServer {
  const waiting: Socket[] = [];
  const carried = new Set<Socket>();

  function next(): void {
    while (carried.size < MOST_CONNECTIONS) {
      const socket = waiting.shift();
      if (socket === undefined) return;
      if (!socket.destroyed) carry(socket);
    }
  }

  function carry(socket: Socket): void {
    let stream: WireStream;
    try {
      stream = open();
    } catch {
      // Without budgie there is no network.
      return void socket.destroy();
    }
    carried.add(socket);
    const onOver = (): void => {
      carried.delete(socket);
      next();
    };
    // Some answers are whole when their connection ends, so one that was cut must not look like that.
    joinSocket(socket, stream, { cut: () => socket.resetAndDestroy(), onOver });
  }

  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    socket.on("error", () => undefined);
    waiting.push(socket);
    next();
  });
  server.maxConnections = MOST_CONNECTIONS + MOST_WAITING;
  return {
    server,
    drop() {
      for (const socket of waiting.splice(0)) socket.destroy();
      for (const socket of carried) socket.resetAndDestroy();
    },
  };
}
