import { connect, type Socket } from "node:net";
import { once } from "node:events";

/** A `hold` that says whatever a test wants, and keeps what it is told. */
export type FakeHold = {
  readonly socket: Socket;
  /** Sends a message */
  readonly say: (kind: string, payload?: Buffer | readonly number[]) => void;
  /** Resolves to the payload of the next message of this kind, without those before it */
  readonly hear: (kind: "S" | "I" | "K") => Promise<Buffer>;
};

/** Connects to a sidecar, as `hold` does when its container starts. */
export async function connectFakeHold(path: string): Promise<FakeHold> {
  const socket = connect(path);
  await once(socket, "connect");
  socket.on("error", () => undefined);
  const messages = readMessages(socket);
  return {
    socket,
    say: (kind, payload = Buffer.alloc(0)) => void socket.write(toMessage(kind, payload)),
    async hear(wanted) {
      for (;;) {
        const next = await messages.next();
        if (next.done === true) throw new Error(`The sidecar closed the socket before a message ${wanted}.`);
        if (next.value.kind === wanted) return next.value.payload;
      }
    },
  };
}

/** Returns the bytes of a message, of numbers of 32 bits or of a payload. */
export function toMessage(kind: string, payload: Buffer | readonly number[]): Buffer {
  const bytes = Buffer.isBuffer(payload) ? payload : Buffer.from(Int32Array.from(payload).buffer);
  const header = Buffer.alloc(8);
  header.write(kind);
  header.writeUInt32LE(bytes.length, 4);
  return Buffer.concat([header, bytes]);
}

async function* readMessages(socket: Socket): AsyncGenerator<{ readonly kind: string; readonly payload: Buffer }> {
  let held = Buffer.alloc(0);
  for await (const piece of socket as AsyncIterable<Buffer>) {
    held = Buffer.concat([held, piece]);
    while (held.length >= 8 && held.length >= 8 + held.readUInt32LE(4)) {
      const end = 8 + held.readUInt32LE(4);
      yield { kind: held.toString("latin1", 0, 1), payload: held.subarray(8, end) };
      held = held.subarray(end);
    }
  }
}
