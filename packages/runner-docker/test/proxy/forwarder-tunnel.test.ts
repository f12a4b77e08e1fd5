import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import { OWN_FORWARDER } from "./forwarder-place.ts";

const endings: (() => unknown)[] = [];

afterEach(() => {
  for (const end of endings.splice(0)) end();
});

/** A forwarder that is given both sockets of a tunnel; what is at their other ends. */
async function giveTunnel(...args: readonly string[]) {
  const [client, givenClient] = await createPair();
  const [server, givenServer] = await createPair();
  return { client, server, ...giveSockets([givenClient, givenServer], ...args) };
}

function giveSockets([givenClient, givenServer]: readonly [Socket, Socket], ...args: readonly string[]) {
  const [command = ""] = OWN_FORWARDER;
  const stdio = ["pipe", "ignore", "inherit", givenClient, givenServer] as const;
  const child: ChildProcess = spawn(command, ["--tunnel", ...args], { stdio: [...stdio] });
  endings.push(() => child.kill("SIGKILL"));
  // What is left of them is the forwarder's alone.
  for (const given of [givenClient, givenServer]) given.destroy();
  return { child, exit: once(child, "exit") };
}

async function createPair(): Promise<readonly [Socket, Socket]> {
  const listener = createServer({ allowHalfOpen: true }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as { port: number };
  const near = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  const [far] = (await once(listener, "connection")) as [Socket];
  listener.close();
  for (const socket of [near, far]) socket.on("error", () => undefined);
  endings.push(() => near.destroy());
  return [near, far];
}

// More than the forwarder reads before it splices.
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

function sizesOf(said: string): { readonly before: number; readonly after: number } {
  const [before = "", after = ""] = /^(a*)(b*)$/.exec(said)?.slice(1) ?? [];
  return { before: before.length, after: after.length };
}

describe.skipIf(process.platform !== "linux")("a forwarder of one tunnel", () => {
  it("sends on what was read of its sockets before, and then what comes", async () => {
    const { child, client, exit, server } = await giveTunnel("1000", "60000", "3", "4");
    child.stdin?.write("abcdefg");
    client.end("hi");
    server.end("ho");

    expect([await text(server), await text(client)]).toEqual(["abchi", "defgho"]);
    expect(await exit).toEqual([0, null]);
  });

  it("ends with its standard input", async () => {
    const { child, client, exit } = await giveTunnel("1000", "60000", "0", "0");
    child.stdin?.end();

    expect(await exit).toEqual([0, null]);
    expect(await text(client)).toBe("");
  });

  it("ends where that ends before all that was announced", async () => {
    const { child, exit, server } = await giveTunnel("1000", "60000", "9", "0");
    child.stdin?.end("abc");

    expect(await exit).toEqual([0, null]);
    expect(await text(server)).toBe("");
  });

  it.each([
    ["of what was read before", "abcde", ""],
    ["of what comes", "ab", "cde"],
  ])("carries no more bytes than it may %s", async (_what, before, then) => {
    const { child, client, exit, server } = await giveTunnel("4", "60000", `${before.length}`, "0");
    child.stdin?.write(before);
    client.write(then);

    expect(await exit).toEqual([0, null]);
    expect("abcd").toContain(await text(server));
  });

  it("passes urgent data, as whoever reads a socket does, and does not wait for it on the processor", async () => {
    const [client, givenClient] = await createPair();
    const listener = createServer({ allowHalfOpen: true, pauseOnConnect: true }).listen(0, "127.0.0.1");
    await once(listener, "listening");
    const { port } = listener.address() as { port: number };
    // Node cannot send any.
    const urgent = spawn("perl", ["-MSocket", "-e", SENDS_URGENT_DATA, `${port}`], { stdio: "inherit" });
    endings.push(() => urgent.kill("SIGKILL"));
    const [givenServer] = (await once(listener, "connection")) as [Socket];
    listener.close();
    const { exit } = giveSockets([givenClient, givenServer], "10000000", "2000", "0", "0");
    client.end();

    expect(sizesOf(await text(client))).toEqual({ before: 1_000_000, after: 1000 });
    expect(await exit).toEqual([0, null]);
  });

  it("ends when it is idle", async () => {
    const { client, exit } = await giveTunnel("1000", "300", "0", "0");

    expect(await exit).toEqual([0, null]);
    expect(await text(client)).toBe("");
  });
});
