import { platform, release } from "node:os";
import type { Owner } from "@budgie/core";
import { createContainerDoors } from "./container-proxy.ts";
import type { Doors } from "./proxy-socket.ts";
import type { Engine } from "../engine/engine.ts";
import type { HostEnvironment } from "../engine/find-engine.ts";
import { findForwarder } from "../image/find-forwarder.ts";
import type { SandboxImage } from "../image/find-image.ts";
import { createHostDoors, type StartProxy } from "./host-proxy.ts";
import { toProxyPlacement, type ProxyPlacement } from "./proxy-placement.ts";
import type { SandboxUser } from "../sandbox/sandbox-user.ts";

type DoorsParts = {
  readonly owner: Owner;
  readonly stateDir: string;
  readonly hostEnv: HostEnvironment;
  readonly upstreamProxy?: string | undefined;
  readonly proxyPlacement?: ProxyPlacement | undefined;
  readonly engine: Engine;
  readonly image: SandboxImage;
  readonly user: SandboxUser;
  readonly startProxy: StartProxy | undefined;
};

/** Creates the doors of a runner's sessions, where the engine can have them. Nothing listens before the first is opened. */
export function createDoors(parts: DoorsParts): Doors {
  const { engine, hostEnv, image, owner, proxyPlacement, startProxy, stateDir, upstreamProxy: url, user } = parts;
  const noProxy = hostEnv["NO_PROXY"] ?? hostEnv["no_proxy"] ?? "";
  const upstream = url === undefined ? undefined : { url, noProxy };
  switch (proxyPlacement ?? toProxyPlacement(engine, { platform: platform(), kernel: release() })) {
    case "host":
      return createHostDoors({
        stateDir,
        instance: owner.record.instance,
        users: engine.users,
        upstream,
        forwarder: findForwarder(engine.platform)?.file,
        startProxy,
      });
    case "container":
      return createContainerDoors({ engine, image, user, owner: owner.record, upstream });
  }
}
