import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, request } from "node:http";
import { connect, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer, text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { EgressPolicy } from "@budgie/core";
import { createProxyFolder, type ProxyFolder } from "@budgie/sandbox/egress";
import { serveOnLoopback } from "@budgie/testkit";
import { createPodEgress, type PodEgress } from "../../src/egress/pod-egress.ts";
import { sendTrust } from "../../src/egress/trust.ts";
import { runSidecar, type RunningSidecar } from "../helpers/run-sidecar.ts";

type Budgie = Awaited<ReturnType<RunningSidecar["connectBudgie"]>>;

const NONE: EgressPolicy = { mode: "none", hosts: [] };

/** Allows one of this machine's own servers by a name, as a user may pin it. Tunnels of an allow-list carry nothing but TLS and HTTP. */
const allow = (port: number, mode: EgressPolicy["mode"] = "open"): EgressPolicy => ({
  mode,
  hosts: [{ host: "server.test", port, address: "127.0.0.1", from: "a test" }],
});

/** Resolves once a socket is closed, also after an error. */
function closeOf(socket: Socket): Promise<void> {
  return new Promise((resolve) => void socket.once("close", () => resolve()));
}

describe("the connections of an agent", () => {
  let stateDir: string;
  let sockets: ProxyFolder;
  let running: RunningSidecar;
  let budgie: Budgie;
  let egress: PodEgress;

  beforeEach(async () => {
    stateDir = mkdtempSync(join(tmpdir(), "budgie-"));
    sockets = createProxyFolder({ stateDir, instance: "0".repeat(36), upstream: undefined });
    running = await runSidecar();
    budgie = await running.connectBudgie();
    await budgie.ask({ purpose: "control", ask: "usage" });
    egress = createPodEgress(sockets.reserve());
    void (async () => {
      for (;;) egress.carry(await budgie.nextOpened());
    })();
  });
  afterEach(async () => {
    await egress.close();
    await sockets.close();
    await running[Symbol.asyncDispose]();
    expect(existsSync(join(stateDir, "sockets", "0".repeat(12)))).toBe(false);
    rmSync(stateDir, { recursive: true });
  });

  /** Connects as an agent does, and asks for a tunnel. Resolves to the proxy's answer, up to its empty line. */
  async function openTunnel(port: number): Promise<{ readonly socket: Socket; readonly answer: string }> {
    const socket = connect({ port: running.sidecar.egressPort, host: "127.0.0.1", allowHalfOpen: true });
    socket.on("error", () => undefined);
    socket.write(`CONNECT server.test:${port} HTTP/1.1\r\nhost: server.test:${port}\r\n\r\n`);
    let answer = "";
    while (!answer.includes("\r\n\r\n") && !socket.readableEnded && !socket.destroyed) {
      const piece = socket.read() as Buffer | null;
      if (piece === null) await new Promise((resolve) => void socket.once("readable", resolve).once("close", resolve));
      else answer += piece.toString();
    }
    return { socket, answer };
  }

  async function listen(onSocket: (socket: Socket) => void): Promise<Server & { readonly port: number }> {
    const server = createTcpServer({ allowHalfOpen: true }, (socket) => {
      socket.on("error", () => undefined);
      onSocket(socket);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    return Object.assign(server, { port: (server.address() as { readonly port: number }).port });
  }

  it("reach a server that the policy allows, with all bytes and both of their ends", async () => {
    const sent = Buffer.from(Array.from({ length: 3_000_000 }, (_, index) => index % 251));
    const server = await listen((socket) => {
      const pieces: Buffer[] = [];
      socket.on("data", (piece: Buffer) => pieces.push(piece)).once("end", () => socket.end(Buffer.concat(pieces)));
    });
    const network = egress.join(allow(server.port));
    await network.guarded;
    expect(network.hasProxy).toBe(true);

    const { answer, socket } = await openTunnel(server.port);
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    socket.end(sent);
    const got = await buffer(socket);
    expect([got.length, got.equals(sent)]).toEqual([sent.length, true]);

    const reached = { host: "server.test", port: server.port, count: 1 };
    expect(await network.take()).toEqual({ allowed: [reached], denied: [] });
    await network.close();
    server.close();
  });

  it("are 60 at once", async () => {
    const server = await listen((socket) => void socket.pipe(socket));
    const network = egress.join(allow(server.port));
    await network.guarded;

    const echoes = Array.from({ length: 60 }, async (_, index) => {
      const { socket } = await openTunnel(server.port);
      socket.end(`number ${index}`);
      return text(socket);
    });
    expect(await Promise.all(echoes)).toEqual(echoes.map((_, index) => `number ${index}`));
    expect((await network.take())?.allowed).toMatchObject([{ count: 60 }]);
    await network.close();
    server.close();
  });

  it("are slowed by a server that does not read, and hold little of what waits", async () => {
    const arrived: Socket[] = [];
    const server = await listen((socket) => void arrived.push(socket.pause()));
    const network = egress.join(allow(server.port));
    await network.guarded;
    const { socket } = await openTunnel(server.port);
    const piece = Buffer.alloc(1024 * 1024);
    let sent = 0;
    const blocked = new Promise<void>((resolve) => {
      const write = (): void => {
        if (sent === 256) return resolve();
        socket.write(piece, () => (sent += 1) && write());
      };
      write();
    });
    const settledAt = async (): Promise<number> => {
      for (let last = -1; ; await new Promise((resolve) => setTimeout(resolve, 300))) {
        if (last === sent) return last;
        last = sent;
      }
    };

    expect(await settledAt()).toBeLessThan(64);
    for (const one of arrived) one.resume();
    await blocked;
    socket.destroy();
    await network.close();
    server.close();
  });

  it("are refused with a reason where the policy does not allow them, and reported", async () => {
    const network = egress.join(allow(1, "allowlist"));
    await network.guarded;

    const { answer } = await openTunnel(2);
    expect(answer).toMatch(/^HTTP\/1\.1 403 /);
    expect((await network.take())?.denied).toMatchObject([{ host: "server.test", port: 2, count: 1 }]);
    await network.close();
  });

  it("are reset before a process may use them, and once it has ended", async () => {
    const server = await listen((socket) => void socket.pipe(socket));
    expect(await openTunnel(server.port)).toMatchObject({ answer: "" });

    const without = egress.join(NONE);
    expect(without.hasProxy).toBe(false);
    expect(await openTunnel(server.port)).toMatchObject({ answer: "" });
    expect(await without.take()).toBeUndefined();
    await without.close();

    const network = egress.join(allow(server.port));
    await network.guarded;
    const { socket } = await openTunnel(server.port);
    const closed = closeOf(socket);
    await network.close();
    await closed;
    expect(await openTunnel(server.port)).toMatchObject({ answer: "" });
    server.close();
  });

  it("are closed by a policy that forbids them, with the process before still there", async () => {
    const server = await listen((socket) => void socket.pipe(socket));
    const first = egress.join(allow(server.port));
    await first.guarded;
    const { socket } = await openTunnel(server.port);
    expect(() => egress.join(allow(1, "allowlist"))).toThrow("runs with another egress policy");
    const closed = closeOf(socket);
    await Promise.all([first.close(), closed]);
    const next = egress.join(allow(1, "allowlist"));
    await next.guarded;

    expect((await openTunnel(server.port)).answer).toMatch(/^HTTP\/1\.1 403 /);
    await next.close();
    server.close();
  });

  it("end at both sides when either resets them", async () => {
    const arrived: Socket[] = [];
    const server = await listen((socket) => void arrived.push(socket.resume().once("end", () => socket.end())));
    const network = egress.join(allow(server.port));
    await network.guarded;
    const agent = await openTunnel(server.port);
    const other = await openTunnel(server.port);
    await expect.poll(() => arrived.length).toBe(2);
    const [first, second] = arrived as [Socket, Socket];

    const atServer = closeOf(first);
    agent.socket.resetAndDestroy();
    await atServer;
    const atAgent = once(other.socket.resume(), "end");
    second.resetAndDestroy();
    await atAgent;
    other.socket.end();
    await network.close();
    server.close();
  });

  it("reach budgie's own service, also without any other network", async () => {
    const disposed = new Promise<void>((resolve) => {
      const service = { answer: (_: unknown, response: { end: (text: string) => void }) => response.end("served") };
      expect(egress.serve({ ...service, [Symbol.asyncDispose]: async () => resolve() })).toBe("http://127.0.0.1:3128");
    });
    const network = egress.join(NONE);
    await network.guarded;

    const answer = await new Promise<string>((resolve, reject) => {
      const options = { port: running.sidecar.egressPort, host: "127.0.0.1", path: "/tools", agent: false };
      request(options, (response) => resolve(text(response)))
        .on("error", reject)
        .end();
    });
    expect(answer).toBe("served");
    await network.close();
    await egress.close();
    await disposed;
  });

  it("go to no plain network of an engine", () => {
    expect(() => egress.join({ mode: "bridge", hosts: [] })).toThrow(/"bridge".*which no Pod has/);
  });

  it("may trust the user's certificates, which are in the Pod as a whole", async () => {
    const trust = { pem: Buffer.from("certificates\n".repeat(10_000)), java: Buffer.from("a store") };
    await sendTrust(budgie.wire, trust);
    await sendTrust(budgie.wire, trust);

    expect(readFileSync(running.roots.trust.pem).equals(trust.pem)).toBe(true);
    expect(readFileSync(running.roots.trust.java).equals(trust.java)).toBe(true);
    const large = sendTrust(budgie.wire, { pem: Buffer.alloc(3 * 1024 * 1024), java: trust.java });
    await expect(large).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    expect(readFileSync(running.roots.trust.pem).equals(trust.pem)).toBe(true);
  });

  it("are the connections of an HTTP client too", async () => {
    await using server = await serveOnLoopback(createServer((_, response) => response.end("an answer")));
    const network = egress.join(allow(server.port, "allowlist"));
    await network.guarded;

    const answer = await new Promise<string>((resolve, reject) => {
      const authority = `server.test:${server.port}`;
      const way = { port: running.sidecar.egressPort, host: "127.0.0.1", path: `http://${authority}/` };
      const options = { ...way, headers: { host: authority }, agent: false };
      request(options, (response) => resolve(text(response)))
        .on("error", reject)
        .end();
    });
    expect(answer).toBe("an answer");
    await network.close();
  });
});
