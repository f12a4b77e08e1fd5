import { platform, release } from "node:os";
import type { Owner } from "@budgie/core";
import type { ProxySockets } from "@budgie/sandbox/egress";
import type { SandboxUser } from "@budgie/sandbox/profile";
import type { Engine } from "../engine/engine.ts";
import type { HostEnvironment } from "../engine/find-endpoints.ts";
import type { SandboxImage } from "../image/find-image.ts";
import { createContainerProxySockets } from "./container-proxy-sockets.ts";
import { createHostProxySockets } from "./host-proxy-sockets.ts";
import type { ProxyPlacement, StartProxy } from "./start-proxy.ts";

type ProxySocketsParts = {
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

/** Creates the proxy sockets of a runner's sessions in the place that the engine can mount. No proxy starts before the first is opened. */
export function createProxySockets(parts: ProxySocketsParts): ProxySockets {
  const { engine, hostEnv, image, owner, proxyPlacement, startProxy, stateDir, upstreamProxy: url, user } = parts;
  const noProxy = hostEnv["NO_PROXY"] ?? hostEnv["no_proxy"] ?? "";
  const upstream = url === undefined ? undefined : { url, noProxy };
  switch (proxyPlacement ?? chooseProxyPlacement(engine, { platform: platform(), kernel: release() })) {
    case "host":
      return createHostProxySockets({
        stateDir,
        instance: owner.record.instance,
        engine,
        upstream,
        startProxy,
      });
    case "container":
      return createContainerProxySockets({ engine, stateDir, image, user, owner: owner.record, upstream });
  }
}

/** The facts about this machine that the placement depends on. */
export type Machine = { readonly platform: string; readonly kernel: string };

/** Returns the proxy's place: containers can reach a socket of this machine only if they share its kernel and its files. */
export function chooseProxyPlacement(
  { endpoint, kernel, system }: Pick<Engine, "endpoint" | "kernel" | "system">,
  machine: Machine,
): ProxyPlacement {
  const isHere = "socketPath" in endpoint.address && machine.platform === "linux" && machine.kernel === kernel;
  return isHere && system !== "Docker Desktop" ? "host" : "container";
}
