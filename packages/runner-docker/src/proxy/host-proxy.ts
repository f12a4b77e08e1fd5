import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { EgressProxy, UpstreamOptions } from "@budgie/egress";
import { SOCKETS_TARGET, type ProxySocket, type ProxySockets } from "./proxy-socket.ts";
import type { Engine } from "../engine/engine.ts";
import { readOnlyBind } from "../sandbox/mounts.ts";

export type HostProxyOptions = {
  readonly stateDir: string;
  readonly instance: string;
  readonly users: Engine["users"];
  readonly upstream: UpstreamOptions | undefined;
  /** Default the one that keeps sessions to their policies */
  readonly startProxy?: StartProxy | undefined;
};

/** Starts the proxy that listens behind the proxy sockets. */
export type StartProxy = () => Promise<EgressProxy>;

/** The proxy sockets of a proxy in this process: sockets in folders of the host, one a session. */
export function createHostProxySockets(options: HostProxyOptions): ProxySockets {
  const { instance, startProxy, stateDir, upstream, users } = options;
  const folder = toSocketsFolder(stateDir, instance);
  let count = 0;
  let proxy: Promise<EgressProxy> | undefined;
  const startOwn: StartProxy = async () => {
    const { createEgressProxy } = await import("@budgie/egress");
    return createEgressProxy(upstream === undefined ? {} : { upstream });
  };

  async function reserve(): Promise<ProxySocket> {
    const own = join(folder, (count++).toString(36));
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    chmodSync(folder, 0o700);
    mkdirSync(own, { mode: 0o700 });
    return {
      mount: readOnlyBind(own, SOCKETS_TARGET),
      socketPath: `${SOCKETS_TARGET}/s`,
      async open() {
        const socketPath = join(own, "s");
        const proxySocket = await (await (proxy ??= (startProxy ?? startOwn)())).open({ socketPath });
        // A remapped session container is a stranger to its caller's files; the folder above keeps all other strangers out.
        chmodSync(own, users === "remapped" ? 0o711 : 0o700);
        chmodSync(socketPath, users === "remapped" ? 0o666 : 0o600);
        return proxySocket;
      },
      remove: async () => rmSync(own, { recursive: true, force: true }),
    };
  }

  return {
    reserve,
    async close() {
      await (await proxy)?.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Where a budgie keeps its proxy sockets. Short: with what is below, no longer than its lock, which was let pass. */
export function toSocketsFolder(stateDir: string, instance: string): string {
  return join(stateDir, "sockets", instance.slice(24));
}
