import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { EgressProxy, UpstreamOptions } from "@budgie/egress";
import { DOORS_TARGET, type DoorPlace, type Doors } from "./proxy-socket.ts";
import type { Engine } from "../engine/engine.ts";
import { readOnlyBind } from "../sandbox/mounts.ts";

export type HostDoorsOptions = {
  readonly stateDir: string;
  readonly instance: string;
  readonly users: Engine["users"];
  readonly upstream: UpstreamOptions | undefined;
  /** Default the one that keeps sessions to their policies */
  readonly startProxy?: StartProxy | undefined;
};

/** Starts the proxy that listens behind the doors. */
export type StartProxy = () => Promise<EgressProxy>;

/** The doors of a proxy in this process: sockets in folders of the host, one a session. */
export function createHostDoors(options: HostDoorsOptions): Doors {
  const { instance, startProxy, stateDir, upstream, users } = options;
  const folder = toDoorsFolder(stateDir, instance);
  let count = 0;
  let proxy: Promise<EgressProxy> | undefined;
  const startOwn: StartProxy = async () => {
    const { createEgressProxy } = await import("@budgie/egress");
    return createEgressProxy(upstream === undefined ? {} : { upstream });
  };

  async function reserve(): Promise<DoorPlace> {
    const own = join(folder, (count++).toString(36));
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    chmodSync(folder, 0o700);
    mkdirSync(own, { mode: 0o700 });
    return {
      mount: readOnlyBind(own, DOORS_TARGET),
      socketPath: `${DOORS_TARGET}/s`,
      async open() {
        const socketPath = join(own, "s");
        const door = await (await (proxy ??= (startProxy ?? startOwn)())).open({ socketPath });
        // A remapped holder is a stranger to its caller's files; the folder above keeps all other strangers out.
        chmodSync(own, users === "remapped" ? 0o711 : 0o700);
        chmodSync(socketPath, users === "remapped" ? 0o666 : 0o600);
        return door;
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

/** Where a budgie keeps its doors. Short: with what is below, no longer than its lock, which was let pass. */
export function toDoorsFolder(stateDir: string, instance: string): string {
  return join(stateDir, "doors", instance.slice(24));
}
