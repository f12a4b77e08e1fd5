import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { rmSync } from "node:fs";
import type { Socket } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createForwarderPlace } from "./forwarder-place.ts";

const MB = 1_000_000;

const echo = (peer: Socket): void => void peer.pipe(peer);
const sha256 = (content: Buffer): string => createHash("sha256").update(content).digest("hex");

// More bytes than the forwarder reads before it splices.
const SENDS_URGENT_DATA = `
  socket(my $peer, PF_INET, SOCK_STREAM, 0) || die;
  connect($peer, pack_sockaddr_in($ARGV[0], INADDR_LOOPBACK)) || die;
  my $content = "a" x 1000000;
  while (length $content) { substr($content, 0, send($peer, $content, 0)) = "" }
  send($peer, "!", MSG_OOB);
  send($peer, "b" x 1000, 0);
  shutdown($peer, 1);
  sleep 60;
`;

// The forwarder runs on Linux only, like every sandbox.
describe.skipIf(process.platform !== "linux")("the forwarder", () => {
  it("carries every byte in both directions, on many connections at once", async () => {
    await using place = await createForwarderPlace();
    await place.serve(echo);
    const sent = Array.from({ length: 20 }, (_, index) => randomBytes(1 + index * 100_003));

    const received = await Promise.all(
      sent.map((content) => {
        const client = place.connect();
        client.end(content);
        return buffer(client);
      }),
    );

    expect(received.map(sha256)).toEqual(sent.map(sha256));
  });

  it("answers a half-closed client", async () => {
    await using place = await createForwarderPlace();
    await place.serve((peer) => void hear(peer).then((said) => peer.end(`heard ${said}`)));
    const client = place.connect();

    client.end("a question");

    expect(await hear(client)).toBe("heard a question");
  });

  it("keeps reading from a client after the proxy half-closed", async () => {
    await using place = await createForwarderPlace();
    const heard = new Promise<string>((resolve) => void place.serve((peer) => resolve(hear(peer.end("all")))));
    const client = place.connect();

    expect(await hear(client)).toBe("all");
    client.write("one, ");
    await sleep(50);
    client.end("two");

    expect(await heard).toBe("one, two");
  });

  it("delivers the answer of a proxy that stops reading", async () => {
    await using place = await createForwarderPlace();
    await place.serve((peer) => peer.once("data", () => peer.end("403", () => peer.destroy())));
    const client = place.connect();

    client.write(Buffer.alloc(5 * MB));

    expect(String((await once(client, "data"))[0])).toBe("403");
  });

  it("closes a connection at once that its client resets", async () => {
    await using place = await createForwarderPlace();
    await place.serve((peer) => peer.on("data", () => undefined));
    const [before, client] = [place.openFiles(), place.connect()];
    client.write("hello");
    while (place.openFiles() !== before + 2) await sleep(10);

    client.resetAndDestroy();

    await expect.poll(() => place.openFiles()).toBe(before);
  });

  it("closes connections to an ended proxy, and uses the next one", async () => {
    await using place = await createForwarderPlace();
    expect(await text(place.connect())).toBe("");

    const first = await place.serve((peer) => peer.end("first"));
    expect(await text(place.connect())).toBe("first");
    first.close();
    rmSync(place.socket, { force: true });
    expect(await text(place.connect())).toBe("");

    await place.serve((peer) => peer.end("second"));
    expect(await text(place.connect())).toBe("second");
  });

  it("waits for a proxy that accepts no connections, without using the processor", async () => {
    await using place = await createForwarderPlace();
    const script = `require("node:net").createServer((peer) => peer.end("at last")).listen({ path: process.argv[1], backlog: 1 }, () => {
      console.log("deaf");
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
    })`;
    const proxy = spawn(process.execPath, ["-e", script, place.socket], { stdio: ["ignore", "pipe", "inherit"] });
    await once(proxy.stdout, "data");
    const began = performance.now();

    const answers = await Promise.all(Array.from({ length: 50 }, () => text(place.connect())));

    expect(new Set(answers)).toEqual(new Set(["at last"]));
    expect(place.busyMs() / (performance.now() - began)).toBeLessThan(0.1);
    proxy.kill("SIGKILL");
    await once(proxy, "exit");
  });

  it("passes urgent data, without using the processor while it waits", async () => {
    await using place = await createForwarderPlace();
    const received = new Promise<string>((resolve) => void place.serve((peer) => resolve(hear(peer))));
    // Node cannot send urgent data.
    const client = spawn("perl", ["-MSocket", "-e", SENDS_URGENT_DATA, `${place.port}`], { stdio: "inherit" });

    expect(toSizes(await received)).toEqual({ before: 1_000_000, after: 1000 });
    const [began, before] = [performance.now(), place.busyMs()];
    await sleep(600);
    expect((place.busyMs() - before) / (performance.now() - began)).toBeLessThan(0.05);
    client.kill("SIGKILL");
    await once(client, "exit");
  });

  it.each<[string, (connect: () => Socket) => void, (peer: Socket) => void]>([
    ["a client has said all and the proxy is silent", (connect) => connect().end("x"), (peer) => peer.resume()],
    ["the proxy has said all and the client is silent", (connect) => connect().resume(), (peer) => peer.resume().end()],
    ["the proxy does not read", (connect) => connect().end(Buffer.alloc(10 * MB)), (peer) => peer.pause()],
    // The kernel reports such a client on every poll.
    [
      "the client has broken off and the proxy does not read",
      (connect) => {
        const client = connect();
        client.write(Buffer.alloc(10 * MB));
        setTimeout(() => client.resetAndDestroy(), 100);
      },
      (peer) => peer.pause(),
    ],
    ["the client does not read", (connect) => connect().pause(), (peer) => peer.resume().end(Buffer.alloc(10 * MB))],
  ])("does nothing while %s", async (_, behave, answer) => {
    await using place = await createForwarderPlace();
    await place.serve(answer);
    behave(() => place.connect());
    await sleep(400);
    const [began, before] = [performance.now(), place.busyMs()];

    await sleep(600);

    expect((place.busyMs() - before) / (performance.now() - began)).toBeLessThan(0.05);
  });

  it.each(["SIGTERM", "SIGINT"] as const)("ends on %s, even with open connections", async (signal) => {
    await using place = await createForwarderPlace();
    await place.serve(echo);
    const client = place.connect();
    client.write("hello");
    await once(client, "data");

    place.child.kill(signal);

    expect(await once(place.child, "exit")).toEqual([0, null]);
  });
});

/** Reads a socket to its end; unlike `text` it does not destroy it. */
async function hear(socket: Socket): Promise<string> {
  let said = "";
  socket.on("data", (data: Buffer) => void (said += data.toString()));
  await once(socket, "end");
  return said;
}

function toSizes(said: string): { readonly before: number; readonly after: number } {
  const [before = "", after = ""] = /^(a*)(b*)$/.exec(said)?.slice(1) ?? [];
  return { before: before.length, after: after.length };
}
