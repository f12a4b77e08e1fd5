import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DockerRunnerOptions } from "@budgie/runner-docker";
import { connectEngine, type HostEnvironment } from "@budgie/runner-docker/lab";

export type TamperingEngine = AsyncDisposable & {
  /** With which a runner finds it */
  readonly hostEnv: HostEnvironment;
  readonly tamper: (around: Tampering) => void;
  /** Number of started turn containers */
  readonly starts: () => number;
};

/** Where the user's engine is looked for. */
type EngineOptions = Pick<DockerRunnerOptions, "home" | "hostEnv">;

/** The user's engine behind a socket that tampers around the first start of a turn's container; `undefined` if it is on no socket. */
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

export type Tampering = {
  /** Right before the container is created, after all checks */
  readonly atCreation?: () => void;
  /** Right before the engine mounts anything, which Podman does on attach */
  readonly before: () => void | Promise<void>;
  /** Right after its start */
  readonly after: () => void;
};
