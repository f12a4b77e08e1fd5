import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { EgressProxy, UpstreamOptions } from "@budgie/egress";
import type { ProxySocket } from "./proxy-socket.ts";

export type ProxyFolderOptions = {
  readonly stateDir: string;
  readonly instance: string;
  readonly upstream: UpstreamOptions | undefined;
  /** Default: the egress proxy of `@budgie/egress`, in this process */
  readonly startProxy?: (() => Promise<EgressProxy>) | undefined;
};

/** The sockets of a proxy in this process, each in a folder of its own on the host. */
export type ProxyFolder = {
  /** Makes the folder of a session's socket, on which no proxy listens yet. */
  reserve(): FolderSocket;
  /** Closes the proxy, and removes the folder. */
  readonly close: () => Promise<void>;
};

/** A session's socket. */
export type FolderSocket = Pick<ProxySocket, "open" | "remove"> & {
  /** Its folder */
  readonly folder: string;
  readonly socketPath: string;
};

/** Creates the folder of a budgie's proxy sockets. No proxy starts before the first socket is opened, and only this user may enter. */
export function createProxyFolder({ instance, startProxy, stateDir, upstream }: ProxyFolderOptions): ProxyFolder {
  const folder = socketsFolder(stateDir, instance);
  let count = 0;
  let proxy: Promise<EgressProxy> | undefined;
  const startOwn = async (): Promise<EgressProxy> => {
    const { createEgressProxy } = await import("@budgie/egress");
    return createEgressProxy(upstream === undefined ? {} : { upstream });
  };

  return {
    reserve() {
      const own = join(folder, (count++).toString(36));
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      chmodSync(folder, 0o700);
      mkdirSync(own, { mode: 0o700 });
      const socketPath = join(own, "s");
      return {
        folder: own,
        socketPath,
        async open() {
          const opened = await (await (proxy ??= (startProxy ?? startOwn)())).open({ socketPath });
          chmodSync(socketPath, 0o600);
          return opened;
        },
        remove: async () => rmSync(own, { recursive: true, force: true }),
      };
    },
    async close() {
      await (await proxy)?.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Returns the folder of a budgie's proxy sockets. It is short: a socket's path is no longer than the lock's, whose length was checked. */
export function socketsFolder(stateDir: string, instance: string): string {
  return join(stateDir, "sockets", instance.slice(24));
}
