import { randomBytes } from "node:crypto";
import type Docker from "dockerode";
import type { EgressProxy, UpstreamOptions } from "@budgie/egress";
import type { OwnerRecord } from "@budgie/core";
import { withLimit } from "../engine/time-limits.ts";
import { ignoreMissing } from "../engine/docker-errors.ts";
import { SOCKETS_TARGET, type ProxySockets } from "./proxy-socket.ts";
import type { Engine } from "../engine/engine.ts";
import type { SandboxImage } from "../image/find-image.ts";
import { toLabels } from "../engine/labels.ts";
import { volumeMount } from "../sandbox/mounts.ts";
import { startProxyContainer, type ProxyContainerProcess } from "./proxy-process.ts";
import type { SandboxUser } from "../sandbox/sandbox-user.ts";
import { removeContainer } from "../engine/remove-container.ts";

export type ContainerProxyOptions = {
  readonly engine: Engine;
  /** Must hold `node` */
  readonly image: SandboxImage;
  readonly user: SandboxUser;
  readonly owner: OwnerRecord;
  readonly upstream: UpstreamOptions | undefined;
};

/**
 * The proxy sockets of a proxy in a container: sockets in a volume that session containers see read-only. Each is told the name of its own, which
 * cannot be guessed; turns do not see the volume.
 */
export function createContainerProxySockets(options: ContainerProxyOptions): ProxySockets {
  const { docker } = options.engine;
  const toProxyLabels = (): Readonly<Record<string, string>> => toLabels(options.owner, "", "proxy");
  const volume = { name: `budgie-proxy-${options.owner.instance}`, labels: toProxyLabels() };
  const mount = volumeMount(volume, SOCKETS_TARGET);
  let starting: Promise<ProxyContainerProcess> | undefined;
  let isUsed = false;

  async function connect(): Promise<EgressProxy> {
    // Identified by the time in its labels.
    const made = { name: volume.name, mount, labels: toProxyLabels() };
    const started = (starting ??= startProxyContainer({ ...options, ...made }));
    const forget = (): void => void (starting === started && (starting = undefined));
    started.then(({ gone }) => gone.then(forget), forget);
    return (await started).proxy;
  }

  return {
    async reserve() {
      isUsed = true;
      // Podman gives no labels to a volume that it makes for a mount, and then nothing would ever collect it.
      await docker.createVolume({ Name: volume.name, Labels: { ...volume.labels }, ...withLimit() });
      const socketPath = `${SOCKETS_TARGET}/sockets/${randomBytes(8).toString("hex")}`;
      return {
        mount: { ...mount, ReadOnly: true },
        socketPath,
        open: async () => (await connect()).open({ socketPath }),
        // Closed, it is removed by the proxy.
        remove: async () => undefined,
      };
    },
    async close() {
      if (!isUsed) return;
      await (await starting?.catch(() => undefined))?.stop();
      // If it ended by itself, its volume is still there.
      await removeProxies(docker, options.owner);
      await docker.getVolume(volume.name).remove(withLimit()).catch(ignoreMissing);
      isUsed = false;
    },
  };
}

async function removeProxies(docker: Docker, { instance }: OwnerRecord): Promise<void> {
  const filters = { label: [`dev.budgie.instance=${instance}`, "dev.budgie.role=proxy"] };
  const proxies = await docker.listContainers({ all: true, filters, ...withLimit() });
  await Promise.all(proxies.map(({ Id }) => removeContainer(docker.getContainer(Id))));
}
