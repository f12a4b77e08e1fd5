import { createServer, type Server, type Socket } from "node:net";
import { CLOCK, type Clock } from "../wire/clock.ts";
import { HEADER_BYTES, KINDS } from "../wire/frame.ts";
import { createWire, type Wire, type WireOptions } from "../wire/wire.ts";

/** The wires of a Pod, of which one lives at a time. */
export type Bridges = {
  readonly server: Server;
  /** Returns the present wire; `undefined` without one */
  readonly wire: () => Wire | undefined;
  readonly close: () => void;
};

/** The events of the wires. */
export type BridgeOptions = {
  readonly onStream: WireOptions["onStream"];
  /** Hears that a wire ended, with all that it carried */
  readonly onEnd: () => void;
  /** Hears that no bridge was connected for 120 seconds */
  readonly onAbandoned: () => void;
  readonly clock?: Clock;
};

const ABANDONED_MS = 120_000;
const CHECK_MS = 1_000;
const HELLO_BYTES = HEADER_BYTES + KINDS.hello.most;
const HELLO_LIMIT_MS = 30_000;
const MOST_BRIDGES = 16;

type Present = { readonly peer: string; readonly wire: Wire };

/**
 * Creates the listener of bridges. Each connection goes on with the wire of the program that its hello names. Another program takes over:
 * its hello ends the wire before, whose program gets no other one.
 */
export function createBridges({ clock = CLOCK, onAbandoned, onEnd, onStream }: BridgeOptions): Bridges {
  const past = new Set<string>();
  let present: Present | undefined;
  let connected: Socket | undefined;
  let seenAt = clock.now();

  const stopChecking = clock.every(CHECK_MS, () => {
    if (connected !== undefined) seenAt = clock.now();
    else if (clock.now() - seenAt >= ABANDONED_MS) {
      stopChecking();
      onAbandoned();
    }
  });

  function attach(socket: Socket, hello: Buffer): void {
    const peer = hello.subarray(HEADER_BYTES + 1).toString("hex");
    if (past.has(peer)) return void socket.destroy();
    if (present?.peer !== peer) begin(peer);
    connected = socket;
    socket.once("close", () => {
      if (connected !== socket) return;
      connected = undefined;
      seenAt = clock.now();
    });
    present?.wire.attach(socket);
  }

  function begin(peer: string): void {
    present?.wire.close();
    const wire = createWire({ side: "pod", onStream, clock });
    present = { peer, wire };
    void wire.ended.then(() => {
      past.add(peer);
      if (present?.wire === wire) present = undefined;
      onEnd();
    });
  }

  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    void readHello(socket).then(
      (hello) => attach(socket, hello),
      () => socket.destroy(),
    );
  });
  server.maxConnections = MOST_BRIDGES;
  return {
    server,
    wire: () => present?.wire,
    close() {
      stopChecking();
      present?.wire.close();
      server.close();
    },
  };
}

/** Reads the first frame of a connection, and leaves it in there. Rejects if it does not come. */
function readHello(socket: Socket): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const give = (): void => reject(new Error("A bridge sent no hello."));
    const timer = setTimeout(give, HELLO_LIMIT_MS).unref();
    const look = (): void => {
      const hello = socket.read(HELLO_BYTES) as Buffer | null;
      if (hello === null) return;
      clearTimeout(timer);
      socket.off("readable", look);
      socket.off("close", give);
      socket.unshift(hello);
      resolve(hello);
    };
    socket.on("readable", look);
    socket.once("close", give);
  });
}
