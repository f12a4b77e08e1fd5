import type { Socket } from "node:net";
import type { HttpLimits } from "./http-limits.ts";

/** Limits on connections. The limit on unauthenticated ones is lower; a new one beyond it closes the oldest of them. */
export type ConnectionShares = {
  /** Counts a new connection as unauthenticated. */
  readonly take: (socket: Socket) => void;
  /** Counts a connection as authenticated, after a request with the token. */
  readonly authenticate: (socket: Socket) => void;
};

/** Creates the limits of one server. */
export function createConnectionShares({
  connections,
  unauthenticated: most,
}: Pick<HttpLimits, "connections" | "unauthenticated">): ConnectionShares {
  const unauthenticated = new Set<Socket>();
  const authenticated = new Set<Socket>();
  return {
    take(socket) {
      unauthenticated.add(socket);
      socket.once("close", () => {
        unauthenticated.delete(socket);
        authenticated.delete(socket);
      });
      if (unauthenticated.size <= most && unauthenticated.size + authenticated.size <= connections) return;
      const [oldest = socket] = unauthenticated;
      unauthenticated.delete(oldest);
      oldest.destroy();
    },
    authenticate(socket) {
      if (unauthenticated.delete(socket)) authenticated.add(socket);
    },
  };
}
