import { PassThrough, type Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type Docker from "dockerode";
import { pack } from "tar-stream";
import { BudgieError } from "@budgie/core";
import { createTail } from "@budgie/core/protocol";
import type { SessionProxy, EgressProxy, ProxyProgram, UpstreamOptions } from "@budgie/egress";
import type { MountSettings } from "@budgie/sandbox/mounts";
import { SOCKETS_TARGET, type SandboxUser } from "@budgie/sandbox/profile";
import { API_LIMIT_MS, timeLimit } from "../engine/with-timeout.ts";
import { attach } from "../engine/attach.ts";
import { toProxyContainer } from "../sandbox/proxy-container.ts";
import { createContainer } from "../engine/create-container.ts";
import { demultiplex } from "../engine/demultiplex.ts";
import { ensureSeccomp } from "../sandbox/ensure-seccomp.ts";
import type { Engine } from "../engine/engine.ts";
import type { SandboxImage } from "../image/find-image.ts";
import { findProgram } from "../image/find-program.ts";
import { removeContainer } from "../engine/remove-container.ts";

export type ProxyContainerOptions = {
  readonly engine: Engine;
  readonly image: SandboxImage;
  readonly user: SandboxUser;
  readonly upstream: UpstreamOptions | undefined;
  readonly stateDir: string;
  readonly name: string;
  /** The volume of the program and the proxy sockets, writable */
  readonly mount: MountSettings;
  readonly labels: Readonly<Record<string, string>>;
};

/** An egress proxy that runs in a container of its own. */
export type ProxyContainerProcess = {
  readonly proxy: EgressProxy;
  /** Resolves when the proxy's connection has ended */
  readonly gone: Promise<void>;
  stop(): Promise<void>;
};

/**
 * Starts the egress proxy in a container of the sandbox image, and copies its program there. The proxy ends when budgie's connection to it
 * does. Throws `RUNNER_UNAVAILABLE` if the image has no `node`.
 */
export async function startProxyContainer(options: ProxyContainerOptions): Promise<ProxyContainerProcess> {
  const { engine, image, labels, mount, name, stateDir, user } = options;
  const { loadProxyProgram } = await import("@budgie/egress");
  const program = await loadProxyProgram();
  const command = [
    "/bin/sh",
    "-c",
    `rm -f "$1"/* && exec node "$2"`,
    "proxy",
    SOCKETS,
    `${PROGRAM}/${program.entry}`,
  ] as const;
  const seccomp = ensureSeccomp(engine, stateDir);
  const body = toProxyContainer({ imageId: image.id, user, command, mounts: [mount], seccomp, labels });
  const container = await createContainer(engine, name, body);
  try {
    await refuseWithoutNode(container, options);
    await container.putArchive(createArchive(program, user), { path: SOCKETS_TARGET, ...timeLimit() });
    const socket = await attach(engine.endpoint.address, container.id);
    await container.start(timeLimit());
    return await connect(options, container, socket);
  } catch (error) {
    await removeContainer(container);
    throw error;
  }
}

const SOCKETS = `${SOCKETS_TARGET}/sockets`;
const PROGRAM = `${SOCKETS_TARGET}/program`;

async function refuseWithoutNode(container: Docker.Container, { image, user }: ProxyContainerOptions): Promise<void> {
  await findProgram(container, { program: "node", path: image.path, user }).catch((cause: Error) => {
    throw new BudgieError(
      "RUNNER_UNAVAILABLE",
      `The egress proxy cannot run: this engine cannot mount a socket of the host, so it runs in the sandbox image "${image.name}". ` +
        `${cause.message} Add Node.js 20.19 or later to the image, or choose "none" or "bridge" as the mode of egress.`,
      { cause },
    );
  });
}

async function connect(
  { image, upstream }: ProxyContainerOptions,
  container: Docker.Container,
  socket: Duplex,
): Promise<ProxyContainerProcess> {
  const { createRemoteEgressProxy } = await import("@budgie/egress");
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  socket.on("error", () => undefined);
  const gone = demultiplex(socket, { stdout, stderr, dropping: new AbortController().signal });
  const words = createTail(MOST_SAID);
  stderr.on("data", (said: Buffer) => words.add(said));
  const options = upstream === undefined ? {} : { upstream };
  const proxy = await withApiLimit(createRemoteEgressProxy({ stdin: socket, stdout }, options)).catch(async (cause) => {
    socket.destroy();
    await Promise.race([gone, sleep(1_000, undefined, { ref: false })]);
    throw notStarted(image, Buffer.concat(words.chunks()).toString(), cause);
  });
  return {
    proxy: { ...proxy, open: async (proxySocket) => withTimeLimits(await withApiLimit(proxy.open(proxySocket))) },
    gone,
    async stop() {
      // In the opposite order it would end by itself during its removal, which is an error on Podman.
      await removeContainer(container);
      socket.destroy();
    },
  };
}

function notStarted({ name }: SandboxImage, words: string, cause: unknown): BudgieError {
  const said = words.trim() === "" ? "" : ` It said: ${words.replace(/\s+/g, " ").trim()}`;
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The egress proxy did not start in a container of the sandbox image "${name}". Its node must be 20.19 or later.${said}`,
    { cause },
  );
}

// The last bytes, since an error ends what it prints.
const MOST_SAID = 300;

function withTimeLimits(session: SessionProxy): SessionProxy {
  return {
    setPolicy: (policy) => withApiLimit(session.setPolicy(policy)),
    take: () => withApiLimit(session.take()),
    close: () => withApiLimit(session.close()),
  };
}

/** Awaits a call to the proxy for at most `API_LIMIT_MS`: a container that is blocked must not block a turn. */
async function withApiLimit<T>(call: Promise<T>): Promise<T> {
  const stop = new AbortController();
  const late = sleep(API_LIMIT_MS, undefined, { signal: stop.signal }).then(() => {
    throw new BudgieError("RUNNER_UNAVAILABLE", "The egress proxy's container did not answer in time. Ask again.");
  });
  try {
    return await Promise.race([call, late]);
  } finally {
    stop.abort();
    late.catch(() => undefined);
  }
}

/** Creates the archive of the proxy's program and of the folder for proxy sockets, which only its user may enter. */
function createArchive({ files }: ProxyProgram, { gid, uid }: SandboxUser): NodeJS.ReadableStream {
  const archive = pack();
  archive.entry({ name: "sockets", type: "directory", mode: 0o700, uid, gid });
  for (const { content, path } of files) archive.entry({ name: `program/${path}`, mode: 0o644 }, content);
  archive.finalize();
  return archive as unknown as NodeJS.ReadableStream;
}
