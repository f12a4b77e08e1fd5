import { connect, type Socket } from "node:net";
import { BudgieError, type EgressPolicy, type SandboxService } from "@budgie/core";
import { createGuardedProxy, type FolderSocket, type ProxiedNetwork } from "@budgie/sandbox/egress";
import type { WireStream } from "../wire/index.ts";
import { joinSocket } from "./join-socket.ts";

/** The network of a session in its Pod: the agent's connections, and a proxy that applies the policy of the running process. */
export type PodEgress = {
  /** Carries a connection of the agent to the proxy. It is reset while no process may use that */
  readonly carry: (stream: WireStream) => void;
  /**
   * Prepares the network of a process that is about to start. The caller must call `close`, even if the start fails. Throws `CONFIG_INVALID`
   * for the mode `bridge`, which a Pod does not have, and `INPUT_INVALID` while a process with another policy runs.
   */
  readonly join: (policy: EgressPolicy) => PodNetwork;
  /** Answers requests to the proxy itself, and returns their address for processes that start from now on */
  readonly serve: (service: SandboxService) => string;
  /** Opens the proxy before a process needs it */
  readonly open: () => Promise<void>;
  /** Closes the proxy and all connections, and disposes of the service */
  readonly close: () => Promise<void>;
};

/** The network of one process in a Pod. */
type PodNetwork = ProxiedNetwork & {
  /** True if the process may use the proxy, and needs the variables that name it */
  readonly hasProxy: boolean;
};

// The sidecar has 48 on the wire at once. Those that it has ended may still have bytes for the proxy.
const MOST_CONNECTIONS = 128;

/** Creates the network of a session, which denies everything. */
export function createPodEgress(place: FolderSocket): PodEgress {
  const proxy = createGuardedProxy(place);
  const sockets = new Set<Socket>();
  let users = 0;

  function carry(stream: WireStream): void {
    if (users === 0 || sockets.size >= MOST_CONNECTIONS) return refuse(stream);
    const socket = connect({ path: place.socketPath, allowHalfOpen: true });
    sockets.add(socket);
    joinSocket(socket, stream, { cut: () => socket.destroy(), onOver: () => sockets.delete(socket) });
  }

  function leave(): void {
    users -= 1;
    // Nobody is left whose connections these could be.
    if (users === 0) drop();
  }

  function drop(): void {
    for (const socket of sockets) socket.destroy();
  }

  return {
    carry,
    join(policy) {
      if (policy.mode === "bridge") throw bridgeError();
      if (!proxy.isReached(policy)) return { ...proxy.joinWithout(), hasProxy: false };
      const network = proxy.join(policy);
      users += 1;
      let closing: Promise<void> | undefined;
      return {
        ...network,
        hasProxy: true,
        close() {
          if (closing === undefined) leave();
          return (closing ??= network.close());
        },
      };
    },
    serve: proxy.serve,
    open: proxy.open,
    async close() {
      users = 0;
      drop();
      await proxy.close();
    },
  };
}

function refuse({ input, output }: WireStream): void {
  input.destroy();
  output.destroy();
}

function bridgeError(): BudgieError {
  return new BudgieError(
    "CONFIG_INVALID",
    'The egress mode "bridge" is the plain network of a container engine, which no Pod has. Choose "none", "allowlist" or "open".',
  );
}
