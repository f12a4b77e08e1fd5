import type { Socket } from "node:net";
import type { HttpLimits } from "./http-limits.ts";

/** Bounds connections, and those of strangers more closely: of them the oldest makes room for each new one. */
export type ConnectionShares = {
  /** Takes a new connection, which is a stranger's until it is known better */
  readonly take: (socket: Socket) => void;
  /** Says that a request with the token came by this connection */
  readonly know: (socket: Socket) => void;
};

/** Creates the shares of a server's connections. */
export function createConnectionShares({
  connections,
  strangers: most,
}: Pick<HttpLimits, "connections" | "strangers">): ConnectionShares {
  const strangers = new Set<Socket>();
  const known = new Set<Socket>();
  return {
    take(socket) {
      strangers.add(socket);
      socket.once("close", () => {
        strangers.delete(socket);
        known.delete(socket);
      });
      if (strangers.size <= most && strangers.size + known.size <= connections) return;
      const [oldest = socket] = strangers;
      strangers.delete(oldest);
      oldest.destroy();
    },
    know(socket) {
      if (strangers.delete(socket)) known.add(socket);
    },
  };
}
