import { spawn, type ChildProcess } from "node:child_process";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";

/**
 * Gives a tunnel away to a process of its own, which cuts it at the limits, and ends with it; returns whether that could be
 * done. Whatever its sockets emit until then is for that process.
 */
export type HandOver = (
  tunnel: readonly [client: Socket, server: Socket],
  limits: { readonly bytes: number; readonly idleMs: number },
) => boolean;

// Each has pipes of a size that a user may have only some of.
const MAX_AT_ONCE = 4;
// What the program has room for. Node holds less, of a socket that it has begun to read.
const MAX_REST_BYTES = 128 * 1024;

/** Hands tunnels over to the forwarder, a few at once; without its program, none. */
export function createHandOver(program: string | undefined): HandOver {
  let atOnce = 0;
  return (tunnel, { bytes, idleMs }) => {
    if (program === undefined || atOnce >= MAX_AT_ONCE || !tunnel.every(isGivable)) return false;
    const rests = tunnel.map(takeRest);
    const lengths = rests.map((rest) => `${rest.length}`);
    const child = start([program, "--tunnel", `${bytes}`, `${idleMs}`, ...lengths], tunnel);
    if (!child) {
      tunnel.forEach((socket, at) => putBack(socket, rests[at]));
      return false;
    }
    atOnce += 1;
    const end = (): void => void child.kill("SIGKILL");
    for (const socket of tunnel) {
      // Else Node would close one whose end it has just read, with all that is still to be carried.
      socket.allowHalfOpen = true;
      socket.setTimeout(0).once("close", end);
    }
    child.once("exit", () => {
      atOnce -= 1;
      for (const socket of tunnel) socket.destroy();
    });
    // Left open: the program ends with whoever holds the other end.
    child.stdin?.on("error", () => {}).write(Buffer.concat(rests));
    return true;
  };
}

function isGivable(socket: Socket): boolean {
  // What Node has still to write would come after what the program writes.
  const isCalm = socket.writableLength === 0 && socket.readableLength <= MAX_REST_BYTES;
  return isCalm && socket.readable && socket.writable && !(socket instanceof TLSSocket);
}

/** What Node has read and nobody has seen; from now on it reads no more. */
function takeRest(socket: Socket): Buffer {
  socket.pause();
  // To start a process with a socket makes Node stop reading it. This keeps a paused one from filling its buffer again.
  socket._read = () => {};
  return (socket.read() as Buffer | null) ?? Buffer.alloc(0);
}

function putBack(socket: Socket, rest: Buffer | undefined): void {
  Reflect.deleteProperty(socket, "_read");
  if (rest && rest.length > 0) socket.unshift(rest);
  socket.resume();
}

function start([program = "", ...args]: readonly string[], tunnel: readonly Socket[]): ChildProcess | undefined {
  try {
    const child = spawn(program, args, { cwd: "/", env: {}, stdio: ["pipe", "ignore", "ignore", ...tunnel] });
    child.on("error", () => {});
    return child.pid === undefined ? undefined : child;
  } catch {
    return undefined;
  }
}
