import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DockerRunnerOptions } from "@budgie/runner-docker";
import { connectEngine, type HostEnvironment } from "@budgie/runner-docker/lab";

/** A proxy in front of the user's engine that runs callbacks at certain requests. */
export type TamperingEngine = AsyncDisposable & {
  /** The environment in which a runner finds this engine */
  readonly hostEnv: HostEnvironment;
  readonly tamper: (around: Tampering) => void;
  /** The number of started turn containers */
  readonly starts: () => number;
};

/** The environment in which the user's engine is looked up. */
type EngineOptions = Pick<DockerRunnerOptions, "home" | "hostEnv">;

/**
 * Creates a socket in front of the user's engine that tampers around the first start of a turn's container. Resolves to
 * `undefined` if the engine is not on a Unix socket.
 */
export async function createTamperingEngine({ home, hostEnv }: EngineOptions): Promise<TamperingEngine | undefined> {
  const { endpoint } = await connectEngine(hostEnv, home);
  if (!("socketPath" in endpoint.address)) return undefined;
  const { socketPath } = endpoint.address;
  const folder = await mkdtemp(join(tmpdir(), "budgie-tampering-"));
  const path = join(folder, "engine.sock");
  let tampering: Tampering | undefined;
  const sockets = new Set<Socket>();
  let starts = 0;
  let hasBegun = false;
  const tamperBefore = (head: string): void | Promise<void> => {
    if (CREATION.test(head) && !hasBegun) tampering?.atCreation?.();
    if (hasBegun || !(ATTACH.test(head) || START.test(head))) return;
    hasBegun = true;
    return tampering?.before();
  };
  const server = createServer((client) => {
    const engine = connect(socketPath);
    let isStarting = false;
    for (const socket of [client, engine]) sockets.add(socket.on("error", () => undefined));
    client.on("data", (chunk) => {
      const head = chunk.toString("latin1");
      if (START.test(head)) isStarting = starts++ === 0;
      const tampered = tamperBefore(head);
      if (tampered === undefined) engine.write(chunk);
      else void tampered.then(() => engine.write(chunk));
    });
    engine.on("data", (chunk) => {
      if (isStarting) tampering?.after();
      isStarting = false;
      client.write(chunk);
    });
    client.on("end", () => engine.end()).on("close", () => engine.destroy());
    engine.on("end", () => client.end()).on("close", () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    hostEnv: { DOCKER_HOST: `unix://${path}` },
    tamper: (around) => void (tampering = around),
    starts: () => starts,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await rm(folder, { recursive: true });
    },
  };
}

// Session containers are recognised by their names.
const CREATION = /^POST [^ ]*\/containers\/create\?name=budgie-(?!session-)/;
const ATTACH = /^POST [^ ]*\/containers\/[0-9a-f]{64}\/attach\?/;
const START = /^POST [^ ]*\/containers\/[0-9a-f]{64}\/start /;

/** Callbacks around the creation and start of a turn's container. */
export type Tampering = {
  /** Called right before the container is created, after all checks */
  readonly atCreation?: () => void;
  /** Called right before the engine mounts anything, which Podman does on attach */
  readonly before: () => void | Promise<void>;
  /** Called right after the start */
  readonly after: () => void;
};
