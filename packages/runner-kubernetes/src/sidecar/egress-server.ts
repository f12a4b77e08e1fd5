import { createServer, type Server, type Socket } from "node:net";
import type { WireStream } from "../wire/wire-stream.ts";

/** The most connections of an agent that are on the wire at once. */
const MOST_CONNECTIONS = 48;
const MOST_WAITING = 256;

/** Creates the listener of an agent's connections. Each becomes a stream of the wire; more than 48 wait for their turn. */
export function createEgressServer(open: () => WireStream): Server {
  const waiting: Socket[] = [];
  let active = 0;

  function next(): void {
    while (active < MOST_CONNECTIONS) {
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
    active += 1;
    join(socket, stream, () => {
      active -= 1;
      next();
    });
  }

  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    socket.on("error", () => undefined);
    waiting.push(socket);
    next();
  });
  server.maxConnections = MOST_CONNECTIONS + MOST_WAITING;
  return server;
}

/** Carries bytes both ways, each until its own end, and both to an error of either. */
function join(socket: Socket, { input, output }: WireStream, onOver: () => void): void {
  const halves = [socket, input, output];
  let left = halves.length;
  const close = (): void => {
    left -= 1;
    if (left === 0) onOver();
  };
  const fail = (): void => halves.forEach((half) => half.destroy());
  for (const half of halves) {
    half.once("close", close);
    half.once("error", fail);
  }
  socket.once("close", () => (socket.readableEnded && socket.writableFinished ? undefined : fail()));
  socket.pipe(output);
  input.pipe(socket);
  socket.resume();
}
