import { accessSync, chmodSync, constants } from "node:fs";
import type { UpstreamOptions } from "@budgie/egress";
import { createProxyFolder, type OwnForwarder, type ProxySocket, type ProxySockets } from "@budgie/sandbox/egress";
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
export function createHostProxySockets({ engine, ...options }: HostProxyOptions): ProxySockets {
  const sockets = createProxyFolder(options);

  async function reserve(): Promise<ProxySocket> {
    const { folder, open, remove, socketPath } = sockets.reserve();
    return {
      mount: readOnlyBind(folder, SOCKETS_TARGET),
      socketPath: `${SOCKETS_TARGET}/s`,
      isHere: true,
      bringForwarder: () => openForwarder(folder, engine.platform),
      async open() {
        const proxySocket = await open();
        // A remapped container's user is another user to the host. The parent folder keeps all other users out.
        if (engine.users === "remapped") {
          chmodSync(folder, 0o711);
          chmodSync(socketPath, 0o666);
        }
        return proxySocket;
      },
      remove,
    };
  }

  return { reserve, close: sockets.close };
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
