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
  const [command = ""] = OWN_FORWARDER;
  const stdio = ["pipe", "ignore", "inherit", givenClient, givenServer] as const;
  const child: ChildProcess = spawn(command, ["--tunnel", ...args], { stdio: [...stdio] });
  endings.push(() => child.kill("SIGKILL"));
  // What is left of them is the forwarder's alone.
  for (const given of [givenClient, givenServer]) given.destroy();
  return { client, server, child, exit: once(child, "exit") };
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

  it("ends when it is idle", async () => {
    const { client, exit } = await giveTunnel("1000", "300", "0", "0");

    expect(await exit).toEqual([0, null]);
    expect(await text(client)).toBe("");
  });
});
