import type { EgressPolicy, SandboxService } from "@budgie/core";
import { checkReach } from "./check-reach.ts";
import { createGuardedProxy, settled, type ProxiedNetwork } from "./guarded-proxy.ts";
import type { OwnForwarder, ProxySocket } from "./proxy-socket.ts";
import type { IdleContainers } from "./idle-containers.ts";

/** A session's network: its container's, with a proxy that applies the policy of the running process. */
export type SessionEgress = {
  /**
   * Prepares the network of a process that is about to start. With `runsForwarder` the process gets its own network, and runs the forwarder
   * itself, if it can. The caller must call `close`, even if the start fails. Throws `CONFIG_INVALID` if the runtime would keep the process
   * from a network that it asks for.
   */
  join(policy: EgressPolicy, runsForwarder: boolean): ProcessNetwork;
  /** Returns the `NetworkMode` of a process that joins with this policy, and does not run the forwarder itself. */
  modeOf(policy: EgressPolicy): string;
  /** Opens the proxy, which denies everything. */
  open(): Promise<void>;
  /** Answers requests to the proxy itself, and returns their address for processes that start from now on. */
  readonly serve: (service: SandboxService) => string;
  /** Closes the proxy, and disposes of the service. */
  close(): Promise<void>;
};

/** The network of one process, in a container. */
export type ProcessNetwork = ProxiedNetwork & {
  /** A container's `NetworkMode` */
  readonly mode: string;
  /** The forwarder that its container runs, if it shares no network with the session's container */
  readonly forwarder?: OwnForwarder | undefined;
  /** Resolves when a container can be started in it */
  readonly joinable: Promise<unknown>;
  /** Starts the session's container again if it was stopped or removed; `false` if it runs. */
  restore(): Promise<boolean>;
};

/** The container whose network a session's processes join. */
type JoinedContainer = {
  readonly name: string;
  start(): Promise<void>;
  stop(): Promise<void>;
  isRunning(): Promise<boolean>;
};

export type EgressParts = {
  readonly sessionContainer: JoinedContainer;
  readonly proxySocket: ProxySocket;
  readonly idleContainers: IdleContainers;
  /** `undefined` for the engine's default */
  readonly runtime: string | undefined;
};

/** Creates a session's network, with a proxy that denies everything. */
export function createSessionEgress({
  sessionContainer,
  idleContainers,
  proxySocket,
  runtime,
}: EgressParts): SessionEgress {
  const containerMode = `container:${sessionContainer.name}`;
  const proxy = createGuardedProxy(proxySocket);

  function joinContainer(asked: EgressPolicy): ProcessNetwork {
    checkReach(runtime);
    const proxied = proxy.join(asked);
    idleContainers.acquire(sessionContainer);
    let closing: Promise<void> | undefined;
    return {
      ...proxied,
      mode: containerMode,
      joinable: settled(sessionContainer.start()),
      async restore() {
        if (await sessionContainer.isRunning()) return false;
        await sessionContainer.start();
        return true;
      },
      close() {
        if (closing === undefined) idleContainers.release(sessionContainer);
        return (closing ??= proxied.close());
      },
    };
  }

  function modeOf(policy: EgressPolicy): string {
    return proxy.isReached(policy) ? containerMode : policy.mode;
  }

  return {
    modeOf,
    join({ hosts, mode }, runsForwarder) {
      const own = modeOf({ hosts, mode });
      if (own !== containerMode) return { ...proxy.joinWithout(), ...apart(own) };
      const forwarder = runsForwarder ? proxySocket.bringForwarder?.() : undefined;
      if (forwarder === undefined) return joinContainer({ hosts, mode });
      return { ...proxy.join({ hosts, mode }), ...apart("none"), forwarder };
    },
    open: proxy.open,
    serve: proxy.serve,
    async close() {
      idleContainers.forget(sessionContainer);
      await proxy.close();
    },
  };
}

/** Returns a network that the session's container has no part in. */
function apart(mode: string): Pick<ProcessNetwork, "joinable" | "mode" | "restore"> {
  return { mode, joinable: Promise.resolve(), restore: async () => false };
}
