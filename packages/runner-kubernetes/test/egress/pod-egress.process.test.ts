import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { Socket } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { EgressPolicy } from "@budgie/core";
import { serveOnLoopback } from "@budgie/testkit";
import { sendTrust } from "../../src/egress/trust.ts";
import { allow, listen, runEgress } from "./run-egress.ts";
import { greet } from "../helpers/run-sidecar.ts";

const NONE: EgressPolicy = { mode: "none", hosts: [] };

const echo = (socket: Socket): void => void socket.pipe(socket);

/** Resolves once a socket is closed, also after an error. */
function closeOf(socket: Socket): Promise<void> {
  return new Promise((resolve) => void socket.once("close", () => resolve()));
}

describe("the connections of an agent", () => {
  it("reach a server that the policy allows, with all bytes and both of their ends", async () => {
    await using place = await runEgress();
    using server = await listen((socket) => {
      const pieces: Buffer[] = [];
      socket.on("data", (piece: Buffer) => pieces.push(piece)).once("end", () => socket.end(Buffer.concat(pieces)));
    });
    const network = place.egress.join(allow(server.port));
    await network.guarded;
    expect(network.hasProxy).toBe(true);

    const { answer, socket } = await place.openTunnel(server.port);
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    const sent = Buffer.from(Array.from({ length: 3_000_000 }, (_, index) => index % 251));
    socket.end(sent);
    const got = await buffer(socket);
    expect([got.length, got.equals(sent)]).toEqual([sent.length, true]);

    const reached = { host: "server.test", port: server.port, count: 1 };
    expect(await network.take()).toEqual({ allowed: [reached], denied: [] });
    await network.close();
  });

  it("are 60 at once", async () => {
    await using place = await runEgress();
    using server = await listen(echo);
    const network = place.egress.join(allow(server.port));
    await network.guarded;

    const echoes = Array.from({ length: 60 }, async (_, index) => {
      const { socket } = await place.openTunnel(server.port);
      socket.end(`number ${index}`);
      return text(socket);
    });
    expect(await Promise.all(echoes)).toEqual(echoes.map((_, index) => `number ${index}`));
    expect((await network.take())?.allowed).toMatchObject([{ count: 60 }]);
    await network.close();
  });

  it("are slowed by a server that does not read, and little waits in between", async () => {
    await using place = await runEgress();
    const arrived: Socket[] = [];
    using server = await listen((socket) => void arrived.push(socket.pause()));
    const network = place.egress.join(allow(server.port));
    await network.guarded;
    const { socket } = await place.openTunnel(server.port);
    const piece = Buffer.alloc(1024 * 1024);
    const pieces = 128;
    let sent = 0;
    const whole = new Promise<void>((resolve) => {
      const write = (): void => {
        if (sent === pieces) return resolve();
        socket.write(piece, () => (sent += 1) && write());
      };
      write();
    });

    // Until no more is taken.
    for (let last = -1; last !== sent; await sleep(500)) last = sent;
    expect(sent).toBeLessThan(pieces / 2);
    for (const one of arrived) one.resume();
    await whole;
    socket.destroy();
    await network.close();
  });

  it("are refused with a reason where the policy does not allow them, and reported", async () => {
    await using place = await runEgress();
    const network = place.egress.join(allow(1, "allowlist"));
    await network.guarded;

    expect((await place.openTunnel(2)).answer).toMatch(/^HTTP\/1\.1 403 /);
    expect((await network.take())?.denied).toMatchObject([{ host: "server.test", port: 2, count: 1 }]);
    await network.close();
  });

  it("are reset before a process may use them, and once it has ended", async () => {
    await using place = await runEgress();
    using server = await listen(echo);
    const early = await place.openTunnel(server.port);
    expect(early.answer).toBe("");
    // Some answers are whole when their connection ends.
    expect(early.socket.errored).toMatchObject({ code: "ECONNRESET" });

    const without = place.egress.join(NONE);
    expect(without.hasProxy).toBe(false);
    expect(await place.openTunnel(server.port)).toMatchObject({ answer: "" });
    expect(await without.take()).toBeUndefined();
    await without.close();

    const network = place.egress.join(allow(server.port));
    await network.guarded;
    const { socket } = await place.openTunnel(server.port);
    await Promise.all([closeOf(socket), network.close()]);
    expect(await place.openTunnel(server.port)).toMatchObject({ answer: "" });
  });

  it("have the policy of one process at a time", async () => {
    await using place = await runEgress();
    using server = await listen(echo);
    const first = place.egress.join(allow(server.port));
    await first.guarded;
    const { socket } = await place.openTunnel(server.port);
    expect(() => place.egress.join(allow(1))).toThrow("runs with another egress policy");
    await Promise.all([closeOf(socket), first.close()]);
    const next = place.egress.join(allow(1, "allowlist"));
    await next.guarded;

    expect((await place.openTunnel(server.port)).answer).toMatch(/^HTTP\/1\.1 403 /);
    await next.close();
  });

  it("end with the process whose they are, also those that wait for their turn", async () => {
    await using place = await runEgress();
    const hold = await place.running.connectHold();
    greet(hold);
    using server = await listen(echo);
    const network = place.egress.join(allow(server.port));
    await network.guarded;
    const turn = place.budgie.startTurn();
    await hold.hear("S");
    const tunnels = await Promise.all(Array.from({ length: 48 }, () => place.openTunnel(server.port)));
    const late = place.openTunnel(server.port);
    const closed = Promise.all(tunnels.map(({ socket }) => closeOf(socket)));
    hold.say("E", [0, 0, 0]);

    await turn.last;
    await closed;
    expect(await late).toMatchObject({ answer: "" });
    expect((await network.take())?.allowed).toMatchObject([{ count: 48 }]);
    await network.close();
  });

  it("end at both sides when either resets them", async () => {
    await using place = await runEgress();
    const arrived: Socket[] = [];
    using server = await listen((socket) => void arrived.push(socket.resume().once("end", () => socket.end())));
    const network = place.egress.join(allow(server.port));
    await network.guarded;
    const agent = await place.openTunnel(server.port);
    const other = await place.openTunnel(server.port);
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
  });

  it("reach budgie's own service, also without any other network", async () => {
    await using place = await runEgress();
    const disposed = new Promise<void>((resolve) => {
      const service = { answer: (_: unknown, response: { end: (text: string) => void }) => response.end("served") };
      const address = place.egress.serve({ ...service, [Symbol.asyncDispose]: async () => resolve() });
      expect(address).toBe("http://127.0.0.1:3128");
    });
    const network = place.egress.join(NONE);
    await network.guarded;

    expect(network.hasProxy).toBe(true);
    expect(await place.get("/tools")).toBe("served");
    await network.close();
    await place.egress.close();
    await disposed;
  });

  it("are those of an HTTP client too", async () => {
    await using place = await runEgress();
    await using server = await serveOnLoopback(createServer((_, response) => response.end("an answer")));
    const network = place.egress.join(allow(server.port, "allowlist"));
    await network.guarded;

    const authority = `server.test:${server.port}`;
    expect(await place.get(`http://${authority}/`, authority)).toBe("an answer");
    await network.close();
  });

  it("are not on a plain network of an engine", async () => {
    await using place = await runEgress();

    expect(() => place.egress.join({ mode: "bridge", hosts: [] })).toThrow(/"bridge".*which no Pod has/);
  });
});

it("the user's certificates get into a Pod as a whole, also a second time", async () => {
  await using place = await runEgress();
  const { wire } = place.budgie;
  const { java, pem } = place.running.roots.trust;
  const trust = { pem: Buffer.from("certificates\n".repeat(10_000)), java: Buffer.from("a store") };
  await sendTrust(wire, trust);
  await sendTrust(wire, trust);

  expect(readFileSync(pem).equals(trust.pem)).toBe(true);
  expect(readFileSync(java).equals(trust.java)).toBe(true);
  const large = sendTrust(wire, { pem: Buffer.alloc(3 * 1024 * 1024), java: trust.java });
  await expect(large).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  expect(readFileSync(pem).equals(trust.pem)).toBe(true);
});
