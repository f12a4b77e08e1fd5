import { once } from "node:events";
import { createServer, type AddressInfo, type Server } from "node:net";
import { describe, expect, it } from "vitest";
import { createHoldPlace, HOLD_LACK, type HoldPlace } from "./hold-place.ts";

async function listen(port = 0): Promise<{ readonly port: number } & Disposable> {
  const server: Server = createServer((peer) => peer.destroy()).listen(port, "127.0.0.1");
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, [Symbol.dispose]: () => void server.close() };
}

type Scanned = { readonly open: readonly number[]; readonly last: string; readonly words: string };

async function scan(place: HoldPlace, words: readonly string[], ports?: readonly number[]): Promise<Scanned> {
  const argv = [`${place.folder}/hold`, "scan", ...words];
  const { stderr, stdout } = await place.run({ argv, ...(ports && { ports }) });
  const lines = stdout.toString().split("\n");
  const open = lines.filter((line) => line.endsWith(" open")).map((line) => Number(line.split(" ")[0]));
  return { open, last: lines.at(-2) ?? "", words: stderr.toString() };
}

describe.skipIf(HOLD_LACK !== undefined)(`a scan (${HOLD_LACK ?? "on this machine"})`, () => {
  it("finds the ports of a machine that take a connection, among all there are", async () => {
    await using place = await createHoldPlace();
    using first = await listen();
    using second = await listen();
    const [from, to] = place.hello.slice(1) as [number, number];

    const { last, open } = await scan(place, ["127.0.0.1", String(from), String(to)]);
    expect(last).toBe(`scanned ${from} ${to}`);
    expect(open).toEqual(expect.arrayContaining([first.port, second.port]));
    // A port at either end of what is scanned is scanned too.
    const { port } = first;
    expect((await scan(place, ["127.0.0.1", String(port), String(port)])).open).toEqual([port]);
    expect((await scan(place, ["127.0.0.1", String(port - 1), String(port)])).open).toContain(port);
    expect((await scan(place, ["127.0.0.1", String(port), String(port + 1)])).open).toContain(port);
  });

  it("finds in the jail only what the jail leaves open", async (test) => {
    await using place = await createHoldPlace();
    test.skip((place.hello[0] ?? 0) < 4, "Landlock of this kernel knows no ports");
    using low = await listen(948);
    using high = await listen();
    const all = ["127.0.0.1", "1", "65535"];

    const free = await scan(place, all);
    expect([free.last, free.open]).toEqual(["scanned 1 65535", expect.arrayContaining([low.port, high.port])]);
    const jailed = await scan(place, all, [3128]);
    expect(jailed.last).toBe("scanned 1 65535");
    expect(jailed.open).toContain(high.port);
    expect(jailed.open).not.toContain(low.port);
    expect((await scan(place, all, [low.port])).open).toContain(low.port);
  });

  it("finds the same with few open files", async () => {
    await using place = await createHoldPlace();
    using high = await listen();
    const range = [high.port - 200, high.port + 200].map(String);

    const argv = ["sh", "-c", `ulimit -n 32 && exec ${place.folder}/hold scan 127.0.0.1 ${range.join(" ")}`];
    const lines = (await place.run({ argv })).stdout.toString().split("\n");
    expect(lines).toContain(`${high.port} open`);
    expect(lines.at(-2)).toBe(`scanned ${range.join(" ")}`);
  });

  it("ends at a machine that does not answer", async () => {
    await using place = await createHoldPlace();

    // Addresses for documentation, to which nothing leads.
    expect(await scan(place, ["192.0.2.1", "40000", "49000"])).toMatchObject({ open: [], last: "scanned 40000 49000" });
    expect(await scan(place, ["[2001:db8::1]", "40000", "40001"])).toMatchObject({ open: [] });
  });

  for (const words of [
    ["127.0.0.1", "0", "1"],
    ["127.0.0.1", "1", "65536"],
    ["127.0.0.1", "1", "2x"],
    ["127.0.0.1:5", "1", "2"],
    ["127.0.0", "1", "2"],
    ["node", "1", "2"],
  ])
    it(`does not take ${words.join(" ")}`, async () => {
      await using place = await createHoldPlace();

      expect(await scan(place, words)).toEqual({ open: [], last: "", words: expect.stringMatching(/^hold: not/) });
    });
});
