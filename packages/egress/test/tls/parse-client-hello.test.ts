import { once } from "node:events";
import { createServer, connect, type AddressInfo, type Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions } from "node:tls";
import { beforeAll, describe, expect, it } from "vitest";
import { parseClientHello } from "../../src/tls/parse-client-hello.ts";
import { block, extension, name, sni, toHello, u16 } from "./client-hello.ts";

/** Captures the first message of Node's TLS client. */
async function captureHello(options: ConnectionOptions): Promise<Buffer> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  connectTls({ socket, ...options }).on("error", () => {});
  const [accepted] = (await once(server, "connection")) as [Socket];
  const [hello] = (await once(accepted, "data")) as [Buffer];
  socket.destroy();
  accepted.destroy();
  server.close();
  return hello;
}

describe("parseClientHello", () => {
  let hello: Buffer;

  beforeAll(async () => {
    hello = await captureHello({ servername: "allowed.test" });
  });

  it("reads the name of a real client's hello, and where it ends", async () => {
    expect(parseClientHello(hello)).toEqual({
      serverName: "allowed.test",
      hasEncryptedHello: false,
      end: hello.length,
    });
    expect(parseClientHello(Buffer.concat([hello, Buffer.from("more")]))).toMatchObject({ end: hello.length });
    expect(parseClientHello(await captureHello({ servername: "" }))).toMatchObject({ serverName: undefined });
    expect(parseClientHello(await captureHello({ servername: "old.test", maxVersion: "TLSv1.2" }))).toMatchObject({
      serverName: "old.test",
    });
  });

  it("asks for more after every part of it", () => {
    for (let length = 0; length < hello.length; length += 1) {
      expect(parseClientHello(hello.subarray(0, length))).toBe("more");
    }
  });

  it("survives a change of any byte of it", () => {
    const results = new Set<string>();
    for (let at = 0; at < hello.length; at += 1) {
      for (const value of [0, 1, 0x7f, 0xff]) {
        const changed = Buffer.from(hello);
        changed[at] = value;
        const result = parseClientHello(changed);
        results.add(typeof result === "string" ? result : "read");
      }
    }

    expect(results).toEqual(new Set(["more", "malformed", "read"]));
  });

  it("reads one that is cut into a few records, and none that is cut into many", () => {
    const extensions = sni(name("allowed.test"));

    expect(parseClientHello(toHello(extensions, 5))).toMatchObject({ serverName: "allowed.test" });
    expect(parseClientHello(toHello(extensions, 40))).toBe("malformed");
  });

  it("detects an encrypted hello", () => {
    const extensions = Buffer.concat([sni(name("allowed.test")), extension(0xfe0d, Buffer.alloc(8))]);

    expect(parseClientHello(toHello(extensions))).toMatchObject({ hasEncryptedHello: true });
  });

  it("reads one without extensions", () => {
    expect(parseClientHello(toHello(undefined))).toMatchObject({ serverName: undefined });
  });

  it.each([
    ["two extensions with names", Buffer.concat([sni(name("allowed.test")), sni(name("evil.test"))])],
    ["two names in one", sni(name("allowed.test"), name("evil.test"))],
    ["a name of another kind", sni(name("allowed.test", 1))],
    ["an empty list of names", sni()],
    ["a name longer than its list", extension(0, block(Buffer.from([0, 0, 99, 97])))],
    ["bytes behind the list of names", extension(0, Buffer.concat([block(name("allowed.test")), u16(0)]))],
    ["bytes behind the extensions", Buffer.concat([sni(name("allowed.test")), Buffer.from([0])])],
  ])("calls %s malformed", (_what, extensions) => {
    expect(parseClientHello(toHello(extensions))).toBe("malformed");
  });

  it.each([
    ["another protocol", Buffer.from("SSH-2.0-x\r\n")],
    ["an old hello", Buffer.from([0x80, 0x2e, 1, 0, 2])],
    ["another message", Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0])],
    ["an empty record", Buffer.from([22, 3, 1, 0, 0])],
    ["a record that is too long", Buffer.from([22, 3, 1, 0xff, 0xff])],
    ["a hello that is too long", Buffer.from([22, 3, 1, 0, 4, 1, 1, 0, 0])],
  ])("calls %s malformed", (_what, bytes) => {
    expect(parseClientHello(bytes)).toBe("malformed");
  });

  it("calls a hello with bytes behind its extensions malformed", () => {
    const single = toHello(sni(name("allowed.test")));
    const length = single.readUIntBE(6, 3) + 1;
    const message = Buffer.concat([Buffer.from([1, 0]), u16(length), single.subarray(9), Buffer.from([0])]);

    expect(parseClientHello(Buffer.concat([single.subarray(0, 3), block(message)]))).toBe("malformed");
  });

  it("calls a record with more than its hello malformed", () => {
    const single = toHello(sni(name("allowed.test")));
    const longer = Buffer.concat([single.subarray(0, 3), block(Buffer.concat([single.subarray(5), Buffer.from([1])]))]);

    expect(parseClientHello(longer)).toBe("malformed");
  });
});
