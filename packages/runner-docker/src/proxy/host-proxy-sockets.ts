import { accessSync, chmodSync, constants, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { EgressProxy, UpstreamOptions } from "@budgie/egress";
import type { OwnForwarder, ProxySocket, ProxySockets } from "@budgie/sandbox/egress";
import { readOnlyBind } from "@budgie/sandbox/mounts";
import { PROXY, SOCKETS_TARGET } from "@budgie/sandbox/profile";
import type { StartProxy } from "./start-proxy.ts";
import type { Engine } from "../engine/engine.ts";
import { bringForwarder } from "../image/ensure-session-image.ts";

export type HostProxyOptions = {
  readonly stateDir: string;
  readonly instance: string;
  readonly engine: Pick<Engine, "platform" | "users">;
  readonly upstream: UpstreamOptions | undefined;
  /** Default: the egress proxy of `@budgie/egress` */
  readonly startProxy?: StartProxy | undefined;
};

/** Creates the proxy sockets of a proxy in this process. Each session's socket is in a folder of its own on the host. */
export function createHostProxySockets(options: HostProxyOptions): ProxySockets {
  const { engine, instance, startProxy, stateDir, upstream } = options;
  const isRemapped = engine.users === "remapped";
  const folder = socketsFolder(stateDir, instance);
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
      isHere: true,
      bringForwarder: () => openForwarder(own, engine.platform),
      async open() {
        const socketPath = join(own, "s");
        const proxySocket = await (await (proxy ??= (startProxy ?? startOwn)())).open({ socketPath });
        // A remapped container's user is another user to the host. The parent folder keeps all other users out.
        chmodSync(own, isRemapped ? 0o711 : 0o700);
        chmodSync(socketPath, isRemapped ? 0o666 : 0o600);
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

function openForwarder(folder: string, platform: string): OwnForwarder | undefined {
  try {
    // Also fails if the file system is mounted `noexec`.
    accessSync(bringForwarder(folder, platform), constants.X_OK);
  } catch {
    return undefined;
  }
  return { folder, command: [`${SOCKETS_TARGET}/forwarder`, `${SOCKETS_TARGET}/s`, new URL(PROXY).port] };
}

/** Returns the folder of a budgie's proxy sockets. It is short: a socket's path is no longer than the lock's, whose length was checked. */
export function socketsFolder(stateDir: string, instance: string): string {
  return join(stateDir, "sockets", instance.slice(24));
}
