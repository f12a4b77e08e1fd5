import { once } from "node:events";
import type { Duplex } from "node:stream";
import { buffer } from "node:stream/consumers";
import { afterEach, expect, it } from "vitest";
import type { WebSocket } from "ws";
import { findRefusedStatus, openExec, type ExecOptions } from "../../src/wire/open-exec.ts";
import { createFakeClock } from "../helpers/fake-clock.ts";
import { startFakeCluster, toPodEnd, type FakeClusterOptions } from "../helpers/fake-cluster.ts";
import { createEnds } from "../helpers/record-turn.ts";

const POD = { namespace: "sandboxes", pod: "budgie-1", container: "budgie", command: ["budgie-pod", "bridge"] };
const disposables: AsyncDisposable[] = [];

afterEach(async () => {
  for (const one of disposables.splice(0)) await one[Symbol.asyncDispose]();
});

async function start(options: FakeClusterOptions) {
  const cluster = await startFakeCluster(options);
  disposables.push(cluster);
  return cluster;
}

/** Opens an exec whose other end is this function's. */
async function connect(onExec: (socket: WebSocket) => void, options: Partial<ExecOptions> = {}): Promise<Duplex> {
  const { server } = await start({ onExec });
  const bytes = await openExec({ ...POD, server, ...options });
  bytes.on("error", () => undefined);
  return bytes;
}

const say = (socket: WebSocket, channel: number, text: string): void =>
  socket.send(Buffer.concat([Buffer.of(channel), Buffer.from(text)]));

it("an exec asks for its Pod with the kubeconfig's credentials, and carries bytes both ways until its stdin ends", async () => {
  const cluster = await start({
    onExec(socket) {
      let stdin = "";
      say(socket, 1, "");
      toPodEnd(socket)
        .on("data", (piece: Buffer) => (stdin += piece.toString()))
        .once("end", () => {
          say(socket, 2, "a complaint");
          say(socket, 1, `got ${stdin}`);
          socket.close();
        });
    },
  });
  const server = `${cluster.server}/k8s/clusters/c-1/`;
  const bytes = await openExec({ ...POD, server, login: { headers: { authorization: "Bearer x" } } });
  bytes.write("one ");
  bytes.end("two");

  expect(String(await buffer(bytes))).toBe("got one two");
  expect(cluster.requests[0]?.headers).toMatchObject({
    authorization: "Bearer x",
    "sec-websocket-protocol": "v5.channel.k8s.io",
  });
  expect(cluster.requests[0]?.url).toBe(
    "/k8s/clusters/c-1/api/v1/namespaces/sandboxes/pods/budgie-1/exec" +
      "?container=budgie&stdin=true&stdout=true&stderr=true&command=budgie-pod&command=bridge",
  );
});

it.each([
  ["that says all is well", '{"status":"Success"}', "ended"],
  ["with a message", '{"status":"Failure","message":"gone\\u001b[2J"}', "gone?[2J"],
  ["of 5,000 bytes", "x".repeat(5_000), "too many bytes"],
  ["that is not JSON", "{", "not JSON"],
  ["of many values", `[${"0,".repeat(1_000)}0]`, "not JSON"],
])("a status is told and decides nothing, also one %s", async (_what, status, told) => {
  const heard: string[] = [];
  const bytes = await connect(
    (socket) => {
      say(socket, 3, status);
      say(socket, 1, "more");
    },
    { onStatus: (text) => heard.push(text) },
  );

  expect(String((await once(bytes, "data"))[0])).toBe("more");
  expect(heard.join()).toContain(told);
  expect(bytes.destroyed).toBe(false);
  bytes.destroy();
});

it.each([
  ["of no channel", (socket: WebSocket) => socket.send(Buffer.alloc(0)), "SESSION_UNUSABLE"],
  ["of stdin", (socket: WebSocket) => say(socket, 0, "x"), "SESSION_UNUSABLE"],
  ["of text", (socket: WebSocket) => socket.send("\u0001x"), "SESSION_UNUSABLE"],
  ["above 1 MiB", (socket: WebSocket) => say(socket, 1, "x".repeat(1024 * 1024)), "RUNNER_UNAVAILABLE"],
])("a message ends the connection if it is one %s", async (_what, send, code) => {
  const bytes = await connect(send);

  await expect(buffer(bytes)).rejects.toMatchObject({ code });
});

it("a reader that waits stops the cluster, and hears the rest later", async () => {
  let flushed = 0;
  const total = 120;
  const bytes = await connect((socket) => {
    for (let left = total; left > 0; left -= 1) {
      socket.send(Buffer.concat([Buffer.of(1), Buffer.alloc(500_000)]), () => (flushed += 1));
    }
  });
  await once(bytes, "readable");
  // The kernel's buffers hold some of the 60 MB.
  for (let last = -1; last !== flushed;) {
    last = flushed;
    for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }
  expect(flushed).toBeLessThan(total);

  let read = 0;
  bytes.on("data", (piece: Buffer) => (read += piece.length));
  await expect.poll(() => read).toBe(total * 500_000);
  bytes.destroy();
});

it("a cluster that answers no ping for 30 seconds is dead, and one that answers is not", async () => {
  const clock = createFakeClock();
  const sockets: WebSocket[] = [];
  const bytes = await connect((socket) => sockets.push(socket), { clock });
  bytes.resume();
  await expect.poll(() => sockets.length).toBe(1);
  const [socket] = sockets;
  if (socket === undefined) return;
  let pings = 0;
  socket.on("ping", () => (pings += 1));
  for (let tick = 1; tick <= 10; tick += 1) {
    clock.advance(5_000);
    await expect.poll(() => pings).toBe(tick);
    say(socket, 1, "x");
    await once(bytes, "data");
  }
  socket.pause();
  const failed = once(bytes, "error");
  clock.advance(29_000);
  expect(bytes.destroyed).toBe(false);
  clock.advance(6_000);

  expect(await failed).toMatchObject([{ code: "RUNNER_UNAVAILABLE", message: expect.stringContaining("30 seconds") }]);
});

it.each([
  ["without TLS", { server: "http://10.0.0.1:8080" }],
  ["with insecure-skip-tls-verify", { server: "https://127.0.0.1:1", login: { rejectUnauthorized: false } }],
])("a cluster that is reached %s is refused before anything is sent", async (how, options) => {
  await expect(openExec({ ...POD, ...options })).rejects.toMatchObject({
    code: "CONFIG_INVALID",
    message: expect.stringContaining(how),
  });
});

it.each([
  ["403 Forbidden", "CONFIG_INVALID", "pods/exec"],
  ["404 Not Found", "SESSION_UNUSABLE", "gone"],
  ["500 Internal Server Error", "RUNNER_UNAVAILABLE", "500"],
])("a cluster that answers %s gives an error that says what to do", async (refusal, code, text) => {
  const { server } = await start({ onExec: () => undefined, refusal });

  const error = await openExec({ ...POD, server }).catch((failure: unknown) => failure);
  expect(error).toMatchObject({ code, message: expect.stringContaining(text) });
  expect(findRefusedStatus(error)).toBe(Number(refusal.slice(0, 3)));
});

it("a cluster that cannot close stdin is refused", async () => {
  const { server } = await start({ onExec: () => undefined, protocol: false });

  await expect(openExec({ ...POD, server })).rejects.toMatchObject({ message: expect.stringContaining("1.30") });
});

it("a cancelled exec is not opened", async () => {
  const { server } = await start({ onExec: () => undefined });

  await expect(openExec({ ...POD, server, signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "CANCELLED" });
});

it("a turn is seen the same at both ends if its execs break at any boundary of the Pod's frames", async () => {
  const lengths: number[] = [0];
  const whole = await run([], lengths);
  let sum = 0;
  const boundaries = lengths.map((length) => (sum += length));

  expect(boundaries.length).toBeGreaterThan(8);
  for (const boundary of boundaries) expect(await run([boundary])).toEqual(whole);
});

/** Runs the recorded turn over execs that break after so many bytes, the last of them never. */
async function run(cuts: number[], lengths: number[] = []): Promise<readonly string[]> {
  const cluster = await startFakeCluster({
    onExec(socket) {
      const most = cuts.shift() ?? Infinity;
      if (most === 0) return socket.terminate();
      const end = toPodEnd(socket, most);
      const write = end.write.bind(end);
      end.write = (chunk: Buffer) => (lengths.push(chunk.length), write(chunk));
      ends.pod.attach(end);
    },
  });
  const ends = createEnds((side) => (side === "budgie" ? void reconnect() : undefined));
  const reconnect = async (): Promise<void> => ends.budgie.attach(await openExec({ ...POD, server: cluster.server }));
  await reconnect();
  const seen = await ends.seen;
  ends.budgie.close();
  ends.pod.close();
  await cluster[Symbol.asyncDispose]();
  return seen;
}
