import { randomBytes } from "node:crypto";
import type Docker from "dockerode";
import type { EgressProxy, UpstreamOptions } from "@budgie/egress";
import type { OwnerRecord } from "@budgie/core/owners";
import type { ProxySockets } from "@budgie/sandbox/egress";
import { volumeMount } from "@budgie/sandbox/mounts";
import { SOCKETS_TARGET, type SandboxUser } from "@budgie/sandbox/profile";
import { timeLimit } from "../engine/with-timeout.ts";
import { ignoreMissing } from "../engine/to-budgie-error.ts";
import type { Engine } from "../engine/engine.ts";
import type { SandboxImage } from "../image/find-image.ts";
import { toLabels } from "../engine/to-labels.ts";
import { startProxyContainer, type ProxyContainerProcess } from "./start-proxy-container.ts";
import { removeContainer } from "../engine/remove-container.ts";

export type ContainerProxyOptions = {
  readonly engine: Engine;
  /** An image with `node` */
  readonly image: SandboxImage;
  readonly user: SandboxUser;
  readonly owner: OwnerRecord;
  /** The folder of the seccomp profile's file, which Podman needs */
  readonly stateDir: string;
  readonly upstream: UpstreamOptions | undefined;
};

/**
 * Creates the proxy sockets of a proxy in a container. They are in a volume that session containers mount read-only and turns do not mount.
 * Each session container knows only the name of its own socket, and cannot guess the others.
 */
export function createContainerProxySockets(options: ContainerProxyOptions): ProxySockets {
  const { docker } = options.engine;
  const buildProxyLabels = (): Readonly<Record<string, string>> => toLabels(options.owner, "", "proxy");
  const volume = { name: `budgie-proxy-${options.owner.instance}`, labels: buildProxyLabels() };
  const mount = volumeMount(volume, SOCKETS_TARGET);
  let starting: Promise<ProxyContainerProcess> | undefined;
  let isUsed = false;

  async function connect(): Promise<EgressProxy> {
    // New labels, whose time identifies the container.
    const made = { name: volume.name, mount, labels: buildProxyLabels() };
    const started = (starting ??= startProxyContainer({ ...options, ...made }));
    const forget = (): void => void (starting === started && (starting = undefined));
    started.then(({ gone }) => gone.then(forget), forget);
    return (await started).proxy;
  }

  return {
    async reserve() {
      isUsed = true;
      // Podman gives no labels to a volume that it creates for a mount, and garbage collection would never find it.
      await docker.createVolume({ Name: volume.name, Labels: { ...volume.labels }, ...timeLimit() });
      const socketPath = `${SOCKETS_TARGET}/sockets/${randomBytes(8).toString("hex")}`;
      return {
        mount: { ...mount, ReadOnly: true },
        socketPath,
        isHere: false,
        open: async () => (await connect()).open({ socketPath }),
        // The proxy removes a socket that it closes.
        remove: async () => undefined,
      };
    },
    async close() {
      if (!isUsed) return;
      await (await starting?.catch(() => undefined))?.stop();
      // A proxy that ended by itself left its container, which blocks the volume's removal.
      await removeProxies(docker, options.owner);
      await docker.getVolume(volume.name).remove(timeLimit()).catch(ignoreMissing);
      isUsed = false;
    },
  };
}

async function removeProxies(docker: Docker, { instance }: OwnerRecord): Promise<void> {
  const filters = { label: [`dev.budgie.instance=${instance}`, "dev.budgie.role=proxy"] };
  const proxies = await docker.listContainers({ all: true, filters, ...timeLimit() });
  await Promise.all(proxies.map(({ Id }) => removeContainer(docker.getContainer(Id))));
}
