import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { EgressPolicy } from "@budgie/core";
import { createProxyFolder } from "@budgie/sandbox/egress";
import { createPodEgress, type PodEgress } from "../../src/egress/pod-egress.ts";
import { runSidecar, type RunningSidecar } from "../helpers/run-sidecar.ts";

/** A tunnel that an agent asked for, and the proxy's answer up to its empty line. */
type Tunnel = { readonly socket: Socket; readonly answer: string };

/** A server of this machine, for agents to connect to. */
type TcpServer = Disposable & { readonly port: number };

/** A sidecar that is connected to a session proxy. */
export type RunningEgress = AsyncDisposable & {
  readonly running: RunningSidecar;
  readonly budgie: Awaited<ReturnType<RunningSidecar["connectBudgie"]>>;
  readonly egress: PodEgress;
  readonly openTunnel: (port: number) => Promise<Tunnel>;
  /** Asks over HTTP, as an agent's program does, and resolves to the answer */
  readonly get: (path: string, host?: string) => Promise<string>;
};

/** Allows one of this machine's own servers by a name, as a user may pin it. Tunnels of an allow-list carry nothing but TLS and HTTP. */
export const allow = (port: number, mode: EgressPolicy["mode"] = "open"): EgressPolicy => ({
  mode,
  hosts: [{ host: "server.test", port, address: "127.0.0.1", from: "a test" }],
});

/** Starts a sidecar and a proxy, which denies everything. */
export async function runEgress(): Promise<RunningEgress> {
  const stateDir = mkdtempSync(join(tmpdir(), "budgie-"));
  const sockets = createProxyFolder({ stateDir, instance: "0".repeat(36), upstream: undefined });
  const running = await runSidecar();
  const budgie = await running.connectBudgie();
  await budgie.ask({ purpose: "control", ask: "usage" });
  const egress = createPodEgress(sockets.reserve());
  void (async () => {
    for (;;) {
      const stream = await budgie.nextOpened();
      if (stream.opening.purpose === "egress") egress.carry(stream);
    }
  })();
  const place = { port: running.sidecar.egressPort, host: "127.0.0.1" };
  return {
    running,
    budgie,
    egress,
    async openTunnel(port) {
      const socket = connect({ ...place, allowHalfOpen: true });
      socket.on("error", () => undefined);
      socket.write(`CONNECT server.test:${port} HTTP/1.1\r\nhost: server.test:${port}\r\n\r\n`);
      return { socket, answer: await readAnswer(socket) };
    },
    get: (path, host = "127.0.0.1") =>
      new Promise((resolve, reject) => {
        const options = { ...place, path, headers: { host }, agent: false };
        request(options, (response) => resolve(text(response)))
          .on("error", reject)
          .end();
      }),
    async [Symbol.asyncDispose]() {
      await egress.close();
      await sockets.close();
      await running[Symbol.asyncDispose]();
      rmSync(stateDir, { recursive: true });
    },
  };
}

async function readAnswer(socket: Socket): Promise<string> {
  let answer = "";
  while (!answer.includes("\r\n\r\n") && !socket.readableEnded && !socket.destroyed) {
    const piece = socket.read() as Buffer | null;
    if (piece === null) await new Promise((resolve) => void socket.once("readable", resolve).once("close", resolve));
    else answer += piece.toString();
  }
  return answer;
}

/** Starts a server. */
export async function listen(onSocket: (socket: Socket) => void): Promise<TcpServer> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => undefined);
    onSocket(socket);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, [Symbol.dispose]: () => void server.close() };
}
