import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectEngine, type HostEnvironment } from "@budgie/runner-docker/lab";
import type { Tampering } from "../lab/target.ts";

/** A proxy in front of the user's engine that runs callbacks at certain requests. */
export type TamperingEngine = AsyncDisposable & {
  /** The environment in which a runner finds this engine */
  readonly hostEnv: HostEnvironment;
  readonly tamper: (around: Tampering) => void;
  /** The number of started turn containers */
  readonly starts: () => number;
};

/** The environment in which the user's engine is looked up. */
type EngineOptions = { readonly home: string; readonly hostEnv: HostEnvironment };

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
  const sessionContainers = new Set<string | undefined>();
  const isOfTurn = (request: RegExp, head: string): boolean => {
    const id = request.exec(head)?.[1];
    return id !== undefined && !sessionContainers.has(id);
  };
  const tamperBefore = (head: string): void | Promise<void> => {
    if (CREATION.test(head) && !hasBegun) tampering?.atCreation?.();
    if (hasBegun || !(isOfTurn(ATTACH, head) || isOfTurn(START, head))) return;
    hasBegun = true;
    return tampering?.before?.();
  };
  const server = createServer((client) => {
    const engine = connect(socketPath);
    let [isStarting, createsSession] = [false, false];
    for (const socket of [client, engine]) sockets.add(socket.on("error", () => undefined));
    client.on("data", (chunk) => {
      const head = chunk.toString("latin1");
      if (isOfTurn(START, head)) isStarting = starts++ === 0;
      createsSession ||= SESSION_CREATION.test(head);
      const tampered = tamperBefore(head);
      if (tampered === undefined) engine.write(chunk);
      else void tampered.then(() => engine.write(chunk));
    });
    engine.on("data", (chunk) => {
      if (isStarting) tampering?.after?.();
      if (createsSession) sessionContainers.add(CREATED.exec(chunk.toString("latin1"))?.[1]);
      [isStarting, createsSession] = [false, false];
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

const CREATION = /^POST [^ ]*\/containers\/create\?name=budgie-(?!session-)/;
const SESSION_CREATION = /^POST [^ ]*\/containers\/create\?name=budgie-session-/;
const CREATED = /"Id":"([0-9a-f]{64})"/;
const ATTACH = /^POST [^ ]*\/containers\/([0-9a-f]{64})\/attach\?/;
const START = /^POST [^ ]*\/containers\/([0-9a-f]{64})\/start /;
