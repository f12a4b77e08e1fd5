import { randomBytes } from "node:crypto";
import type Docker from "dockerode";
import type { EgressProxy, UpstreamOptions } from "@budgie/egress";
import type { OwnerRecord } from "@budgie/core";
import { timeLimit } from "../engine/time-limits.ts";
import { ignoreMissing } from "../engine/docker-errors.ts";
import { SOCKETS_TARGET } from "../sandbox/proxy-environment.ts";
import type { ProxySockets } from "./proxy-socket.ts";
import type { Engine } from "../engine/engine.ts";
import type { SandboxImage } from "../image/find-image.ts";
import { toLabels } from "../engine/labels.ts";
import { volumeMount } from "../sandbox/mounts.ts";
import { startProxyContainer, type ProxyContainerProcess } from "./proxy-process.ts";
import type { SandboxUser } from "../sandbox/sandbox-user.ts";
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
  const toProxyLabels = (): Readonly<Record<string, string>> => toLabels(options.owner, "", "proxy");
  const volume = { name: `budgie-proxy-${options.owner.instance}`, labels: toProxyLabels() };
  const mount = volumeMount(volume, SOCKETS_TARGET);
  let starting: Promise<ProxyContainerProcess> | undefined;
  let isUsed = false;

  async function connect(): Promise<EgressProxy> {
    // New labels, whose time identifies the container.
    const made = { name: volume.name, mount, labels: toProxyLabels() };
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
