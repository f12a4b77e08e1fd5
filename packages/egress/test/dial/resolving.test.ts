import { describe, expect, it } from "vitest";
import { dialHost } from "../../src/dial/dial-host.ts";
import { DEFAULT_EGRESS_LIMITS } from "../../src/dial/egress-limits.ts";
import { createResolver, type Lookup } from "../../src/dial/resolver.ts";
import { createRouteFinder } from "../../src/dial/route.ts";
import { parseUpstream } from "../../src/dial/parse-upstream.ts";
import { createOrigin, createProxyPlace, openTunnel, toPolicy } from "../helpers/proxy-place.ts";

const target = { host: "allowed.test", port: 443, address: undefined };

/** Creates a lookup that returns the next answer at each call, and counts the calls. */
function createLookup(...answers: readonly (readonly string[])[]): {
  readonly lookup: Lookup;
  readonly asked: () => number;
} {
  let asked = 0;
  const lookup: Lookup = async () => {
    const answer = answers[Math.min(asked, answers.length - 1)] ?? [];
    asked += 1;
    if (answer.length === 0) throw new Error("ENOTFOUND");
    return answer.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  };
  return { lookup, asked: () => asked };
}

const findRoute = (lookup: Lookup, proxy?: string) =>
  createRouteFinder(
    lookup,
    proxy === undefined ? undefined : parseUpstream({ url: proxy }),
    DEFAULT_EGRESS_LIMITS,
  )(target);

describe("resolving", () => {
  it.each(["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fd00::1", "0.0.0.0"])(
    "refuses an allowed name at %s",
    async (address) => {
      const { asked, lookup } = createLookup([address]);
      const place = await createProxyPlace(toPolicy("allowlist", "allowed.test"), { lookup });
      const { head } = await openTunnel(place.socketPath, "allowed.test:443");

      expect(head).toMatch(/^HTTP\/1\.1 403 .*no public address.* as "allowed\.test=ADDRESS"/s);
      expect(asked()).toBe(1);
      expect((await place.session.take()).denied).toMatchObject([{ host: "allowed.test", port: 443 }]);
      await place.close();
    },
  );

  it("refuses it under an open policy too, and reaches it if it is pinned", async () => {
    const origin = await createOrigin((socket) => socket.end("here"));
    const { asked, lookup } = createLookup(["127.0.0.1"]);
    const place = await createProxyPlace(toPolicy("open"), { lookup });
    const authority = `any.test:${origin.port}`;

    expect((await openTunnel(place.socketPath, authority)).head).toMatch(/^HTTP\/1\.1 403 /);
    expect(origin.connections()).toBe(0);

    await place.session.setPolicy(toPolicy("open", `${authority}=127.0.0.1`));
    expect((await openTunnel(place.socketPath, authority)).head).toMatch(/^HTTP\/1\.1 200 /);
    expect(asked()).toBe(1);
    await place.close();
    await origin.close();
  });

  it("reports a name without an address", async () => {
    const place = await createProxyPlace(toPolicy("allowlist", "allowed.test"), { lookup: createLookup([]).lookup });

    expect((await openTunnel(place.socketPath, "allowed.test:443")).head).toMatch(/^HTTP\/1\.1 502 .*not be resolved/s);
    await place.close();
  });

  it("uses no name with too many addresses, with and without an upstream proxy", async () => {
    const many = Array.from({ length: 257 }, (_, index) => `203.0.113.${index % 256}`);

    expect(await findRoute(createLookup(many).lookup)).toBe("unknown");
    expect(await findRoute(createLookup(many).lookup, "http://127.0.0.1:3128")).toBe("unknown");
    expect(await findRoute(createLookup(many.slice(1)).lookup)).toMatchObject({ host: "allowed.test" });
  });

  it("uses only the public ones of several addresses", async () => {
    const { lookup } = createLookup(["10.0.0.1", "203.0.113.7", "::1", "2001:db8::7"]);

    expect(await findRoute(lookup)).toMatchObject({
      addresses: [{ address: "203.0.113.7" }, { address: "2001:db8::7" }],
    });
  });

  it("resolves once, and dials the checked address if the name resolves to another later", async () => {
    const { asked, lookup } = createLookup(["203.0.113.7"], ["127.0.0.1"]);

    expect(await findRoute(lookup)).toMatchObject({ addresses: [{ address: "203.0.113.7" }] });
    expect(asked()).toBe(1);
    expect(await findRoute(lookup)).toBe("private");
  });

  it("dials the address of a route, and does not resolve its name", async () => {
    const origin = await createOrigin();
    const route = { host: "does-not-exist.invalid", port: origin.port, upstream: undefined };
    const socket = await dialHost({ ...route, addresses: [{ address: "127.0.0.1", family: 4 }] }, 5_000);

    expect(socket.remoteAddress).toBe("127.0.0.1");
    socket.destroy();
    await origin.close();
  });

  it("refuses names with private addresses here although the upstream proxy resolves them, and no others", async () => {
    const proxy = "http://127.0.0.1:3128";

    expect(await findRoute(createLookup(["203.0.113.7", "10.0.0.1"]).lookup, proxy)).toBe("private");
    expect(await findRoute(createLookup(["203.0.113.7"]).lookup, proxy)).toMatchObject({ addresses: [] });
    expect(await findRoute(createLookup([]).lookup, proxy)).toMatchObject({ addresses: [] });
  });

  it("shares pending lookups of a name, limits lookups at once, and caches nothing", async () => {
    const asked: string[] = [];
    const answers: (() => void)[] = [];
    const lookup: Lookup = (host) => {
      asked.push(host);
      return new Promise((done) => answers.push(() => done([])));
    };
    const resolve = createResolver(lookup, { most: 2, waitMs: 10_000 });
    const all = [resolve("a"), resolve("a"), resolve("b"), resolve("c")];
    await new Promise((done) => setImmediate(done));
    expect(asked).toEqual(["a", "b"]);

    while (answers.length > 0) {
      answers.shift()?.();
      await new Promise((done) => setImmediate(done));
    }
    await Promise.all(all);
    expect(asked).toEqual(["a", "b", "c"]);

    void resolve("a");
    await new Promise((done) => setImmediate(done));
    expect(asked).toEqual(["a", "b", "c", "a"]);
  });

  it("lets sessions whose names never answer delay neither other sessions nor their own next turn", async () => {
    const asked: string[] = [];
    const lookup: Lookup = (host) => {
      asked.push(host);
      return host.endsWith(".slow.test") ? new Promise(() => undefined) : Promise.reject(new Error("ENOTFOUND"));
    };
    const place = await createProxyPlace(toPolicy("open"), { lookup, limits: { dialMs: 200 } });
    const slow = [1, 2, 3].map((at) => `${place.socketPath}${at}`);
    const sessions = await Promise.all(slow.map((socketPath) => place.proxy.open({ socketPath })));
    for (const session of sessions) await session.setPolicy(toPolicy("open"));
    const flood = slow.flatMap((path, index) =>
      Array.from({ length: 20 }, (_, at) => openTunnel(path, `${at}.${index}.slow.test:443`)),
    );
    // Control: these lookups are ahead of it in the queue.
    await expect.poll(() => asked.length, { timeout: 10_000 }).toBe(3 * 4);

    expect((await openTunnel(place.socketPath, "quick.test:443")).head).toMatch(/^HTTP\/1\.1 502 .*not be resolved/s);
    expect(asked.at(-1)).toBe("quick.test");
    expect((await openTunnel(`${place.socketPath}1`, "late.test:443")).head).toMatch(/^HTTP\/1\.1 502 /);
    expect(asked).not.toContain("late.test");

    // The session's next turn.
    await sessions[0]?.setPolicy(toPolicy("open"));
    expect((await openTunnel(`${place.socketPath}1`, "next.test:443")).head).toMatch(/^HTTP\/1\.1 502 /);
    expect(asked.at(-1)).toBe("next.test");

    await Promise.all(flood);
    await place.close();
  });

  it("never asks for a name without a waiting caller", async () => {
    const asked: string[] = [];
    let answer = (): void => undefined;
    const resolve = createResolver(
      (host) => {
        asked.push(host);
        return new Promise((done) => (answer = () => done([])));
      },
      { most: 1, waitMs: 500 },
    );
    const [first, late, again] = [resolve("first"), resolve("late"), resolve("again")];
    await new Promise((done) => setTimeout(done, 600));
    void resolve("again");
    answer();

    await expect(late).rejects.toThrow("No caller waits");
    await first;
    await new Promise((done) => setImmediate(done));
    expect(asked).toEqual(["first", "again"]);
    answer();
    expect(await again).toEqual([]);
  });
});
