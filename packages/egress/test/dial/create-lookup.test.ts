import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLookup } from "../../src/dial/create-lookup.ts";
import type { Lookup } from "../../src/dial/resolver.ts";
import { createProxyPlace, openTunnel, toPolicy } from "../helpers/proxy-place.ts";

let folder: string;
let server: Socket;
let asked: string[];
let lookup: Lookup;

// A name server with one answer for each address family, and none for slow.test.
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "budgie-hosts-"));
  asked = [];
  server = createSocket("udp4");
  server.on("message", (question, { port }) => {
    const { host, isIpv6 } = toQuestion(question);
    asked.push(host);
    if (!host.endsWith("slow.test")) server.send(toAnswer(question, host, isIpv6), port, "127.0.0.1");
  });
  server.bind(0, "127.0.0.1");
  await once(server, "listening");
  const hostsFile = join(folder, "hosts");
  writeFileSync(hostsFile, "127.0.0.1 localhost\n203.0.113.9 Written.test other # comment.test\nx.y written.test\n");
  lookup = createLookup({ hostsFile, servers: [`127.0.0.1:${(server.address() as AddressInfo).port}`] });
});

afterEach(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

describe("createLookup", () => {
  it("uses the hosts file first, and asks no server for its names", async () => {
    expect(await lookup("written.test")).toEqual([{ address: "203.0.113.9", family: 4 }]);
    expect(asked).toEqual([]);
  });

  it("asks the name servers for all addresses of other names", async () => {
    expect(await lookup("quick.test")).toEqual([
      { address: "203.0.113.7", family: 4 },
      { address: "2001:db8::7", family: 6 },
    ]);
    expect(new Set(asked)).toEqual(new Set(["quick.test"]));
    expect(await lookup("comment.test")).toHaveLength(2);
  });

  it("takes little time for a hosts file with a list of names to block", { timeout: 60_000 }, async () => {
    const blocked = Array.from({ length: 150_000 }, (_, at) => `0.0.0.0 ads${at}.tracker.test`);
    writeFileSync(join(folder, "hosts"), `${blocked.join("\n")}\n203.0.113.9 written.test\n`);
    const splitAll = async (): Promise<unknown> =>
      (await readFile(join(folder, "hosts"), "utf8")).split("\n").map((line) => line.split(/\s+/));
    let [lookupMs, splitMs] = [0, 0];
    for (let round = 0; round < 10; round++) {
      lookupMs += await measure(() => lookup("quick.test"));
      splitMs += await measure(splitAll);
    }

    // A lookup costs less than splitting the lines of all names.
    expect(lookupMs).toBeLessThan(splitMs);
    expect(await lookup("written.test")).toEqual([{ address: "203.0.113.9", family: 4 }]);
  });

  it("rejects a name without an address, and one that no server answers for", { timeout: 30_000 }, async () => {
    const [unknown, slow] = await Promise.allSettled([lookup("unknown.test"), lookup("slow.test")]);

    expect([unknown.status, slow.status]).toEqual(["rejected", "rejected"]);
  });

  it("answers other sessions, and file access, while many names never resolve", async () => {
    const place = await createProxyPlace(toPolicy("open"), { lookup, limits: { dialMs: 20_000 } });
    const paths = Array.from({ length: 8 }, (_, at) => `${place.socketPath}${at}`);
    for (const socketPath of paths) await (await place.proxy.open({ socketPath })).setPolicy(toPolicy("open"));
    let answered = 0;
    const flood = paths.flatMap((path) =>
      Array.from({ length: 8 }, (_, at) => openTunnel(path, `${at}.slow.test:443`).then(() => (answered += 1))),
    );
    // Control: each session asks for as many names as it is allowed to.
    await expect.poll(() => new Set(asked).size, { timeout: 10_000 }).toBeGreaterThan(1);

    const { head } = await openTunnel(place.socketPath, "unknown.test:443");
    await stat(folder);

    expect(head).toMatch(/^HTTP\/1\.1 502 .*not be resolved/s);
    expect(answered).toBe(0);
    await place.close();
    await Promise.all(flood);
  });
});

type Question = { readonly host: string; readonly isIpv6: boolean };

function toQuestion(message: Buffer): Question {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString("latin1", at + 1, at + 1 + length));
    at += length + 1;
  }
  return { host: labels.join("."), isIpv6: message.readUInt16BE(at + 1) === 28 };
}

/** Answers 203.0.113.7 and 2001:db8::7, for all names but one. */
function toAnswer(question: Buffer, host: string, isIpv6: boolean): Buffer {
  const isKnown = host !== "unknown.test";
  const header = Buffer.from(question.subarray(0, 12));
  header.writeUInt16BE(isKnown ? 0x8180 : 0x8183, 2);
  header.writeUInt16BE(isKnown ? 1 : 0, 6);
  header.fill(0, 8, 12);
  const asked = question.subarray(12, 12 + host.length + 2 + 4);
  const address = Buffer.from(isIpv6 ? "20010db8000000000000000000000007" : "cb007107", "hex");
  const fields = Buffer.from([0xc0, 12, 0, isIpv6 ? 28 : 1, 0, 1, 0, 0, 0, 0, 0, address.length]);
  return Buffer.concat([header, asked, ...(isKnown ? [fields, address] : [])]);
}

async function measure(work: () => Promise<unknown>): Promise<number> {
  const beganMs = performance.now();
  await work();
  return performance.now() - beganMs;
}
