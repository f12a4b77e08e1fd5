import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import type Docker from "dockerode";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import { connectEngine } from "../../src/engine/engine.ts";
import { FORWARDER } from "../../src/sandbox/container-options.ts";
import { ensureSessionImage } from "../../src/image/ensure-session-image.ts";
import { BASE_IMAGE } from "../helpers/docker-place.ts";

const engine = await connectEngine(process.env, process.env["HOME"] ?? "/root");
const { docker } = engine;
const folder = mkdtempSync(join(tmpdir(), "budgie-"));
const socket = join(folder, "proxy.sock");
const id = createSessionId();
const INSIDE = `/run/budgie/${id}`;

const answer = (name: string): Server => createServer((peer) => peer.on("error", () => undefined).end(`${name}\n`));
const proxy = answer("the proxy");
const host = answer("the host");
let sessionContainer: Docker.Container;

beforeAll(async () => {
  await new Promise<void>((resolve) => proxy.listen(socket, resolve));
  await new Promise<void>((resolve) => host.listen(0, "0.0.0.0", resolve));
  chmodSync(folder, 0o711);
  chmodSync(socket, 0o777);
  sessionContainer = await startSessionContainer();
});
afterAll(async () => {
  await sessionContainer.remove({ force: true });
  for (const server of [proxy, host]) server.close();
  rmSync(folder, { recursive: true });
});

async function startSessionContainer(): Promise<Docker.Container> {
  const container = await docker.createContainer({
    name: `budgie-test-session-container-${createSessionId()}`,
    Image: await ensureSessionImage(engine, { uid: 61_001, gid: 61_001 }),
    Entrypoint: [FORWARDER],
    Cmd: [`${INSIDE}/proxy.sock`],
    User: "61001:61001",
    HostConfig: {
      NetworkMode: "none",
      ReadonlyRootfs: true,
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      PidsLimit: 4,
      Memory: 64 * 1024 * 1024,
      Mounts: [{ Type: "bind", Source: folder, Target: INSIDE, ReadOnly: true }],
    },
  });
  await container.start();
  return container;
}

/** Runs a script in a container that is restricted only in its network. */
async function runIn(NetworkMode: string, script: string): Promise<string> {
  const container = await docker.createContainer({
    name: `budgie-test-member-${createSessionId()}`,
    Image: BASE_IMAGE,
    Entrypoint: ["bash", "-c", script],
    Tty: true,
    HostConfig: { NetworkMode },
  });
  try {
    await container.start();
    await container.wait();
    return (await container.logs({ stdout: true, stderr: true })).toString().replaceAll("\r", "");
  } finally {
    await container.remove({ force: true });
  }
}

const connect = (address: string, port: number): string =>
  `timeout 2 bash -c 'exec 3<>/dev/tcp/${address}/${port} && cat <&3' 2>/dev/null || echo nothing at ${address}`;

/** Runs a script that waits, for at most 30 s, until the forwarder of a session container answers. */
const awaitForwarder = (container: Docker.Container): Promise<string> =>
  runIn(
    `container:${container.id}`,
    "timeout 30 bash -c 'until exec 3<>/dev/tcp/127.0.0.1/3128; do sleep 0.1; done; cat <&3' 2>/dev/null",
  );

describe("the session image", () => {
  it("forwards the loopback of a container that joins its network to a socket of the host", async () => {
    expect(await awaitForwarder(sessionContainer)).toBe("the proxy\n");
  });

  it("lets that container reach nothing else, which one on the bridge does", async () => {
    const { port } = host.address() as { port: number };
    const addresses = Object.values(networkInterfaces())
      .flatMap((all) => all ?? [])
      .filter(({ family, internal }) => family === "IPv4" && !internal)
      .map(({ address }) => address);
    const probe = [...addresses, "127.0.0.1"].map((address) => connect(address, port)).join("; ");
    const interfaces = "; ls /sys/class/net | xargs";

    const joined = await runIn(`container:${sessionContainer.id}`, probe + interfaces);
    const bridged = await runIn("bridge", probe + interfaces);

    const nothing = [...addresses, "127.0.0.1"].map((address) => `nothing at ${address}\n`).join("");
    expect(joined).toBe(`${nothing}lo\n`);
    // The bridge of a Podman with CNI leads to the host on some machines only.
    if (engine.name !== "Podman") expect(bridged).toContain("the host\n");
    expect(bridged).toMatch(/\beth0\b/);
  });

  it("ends at once when it is stopped, though it is its container's first process", async () => {
    const other = await startSessionContainer();
    try {
      // Until it forwards, the kernel may drop the signal: the forwarder has not blocked it yet.
      await awaitForwarder(other);

      await other.stop({ t: 30 });

      expect((await other.inspect()).State).toMatchObject({ ExitCode: 0, OOMKilled: false });
    } finally {
      await other.remove({ force: true });
    }
  });
});
