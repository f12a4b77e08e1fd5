import { once } from "node:events";
import { connect as connectTls, createServer as createTlsServer } from "node:tls";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createCertificate } from "../helpers/certificate.ts";
import {
  createProxyPlace,
  openTunnel,
  readToEnd,
  toPolicy,
  watch,
  type Origin,
  type ProxyPlace,
} from "../helpers/proxy-place.ts";

const certificate = createCertificate();
let origin: Origin;
let place: ProxyPlace;

beforeEach(async () => {
  origin = await watch(
    createTlsServer(certificate, (socket) => {
      socket.on("error", () => {});
      socket.pipe(socket);
    }),
    "connection",
  );
  place = await createProxyPlace(toPolicy("allowlist", `${host()}=127.0.0.1`));
});

afterEach(async () => {
  await place.close();
  await origin.close();
});

const host = (): string => `allowed.test:${origin.port}`;

async function openEcho() {
  const { socket } = await openTunnel(place.socketPath, host());
  const tls = connectTls({ socket, servername: "allowed.test", rejectUnauthorized: false });
  tls.on("error", () => {});
  const echo = async (): Promise<string> => {
    tls.write("x");
    const [bytes] = (await once(tls, "data")) as [Buffer];
    return bytes.toString();
  };
  expect(await echo()).toBe("x");
  return { socket, tls, echo };
}

describe("a change of policy", () => {
  it.each([
    ["denies all", () => toPolicy("none")],
    ["no longer names the host", () => toPolicy("allowlist", "other.test")],
    ["names another port", () => toPolicy("allowlist", "allowed.test")],
    ["pins it to another address", () => toPolicy("allowlist", `${host()}=127.0.0.2`)],
    ["no longer pins it", () => toPolicy("allowlist", host())],
  ])("cuts an open tunnel where it %s", async (_what, policy) => {
    const { socket } = await openEcho();
    await place.session.setPolicy(policy());

    await readToEnd(socket);
    expect(socket.destroyed).toBe(true);
  });

  it.each([
    ["says the same", () => toPolicy("allowlist", `${host()}=127.0.0.1`)],
    ["allows more", () => toPolicy("allowlist", `${host()}=127.0.0.1`, "other.test")],
    ["opens all", () => toPolicy("open", `${host()}=127.0.0.1`)],
  ])("leaves a tunnel open where it %s", async (_what, policy) => {
    const { echo, tls } = await openEcho();
    await place.session.setPolicy(policy());

    expect(await echo()).toBe("x");
    tls.destroy();
  });

  it("closes connections that were not inspected when an allow-list replaces an open policy", async () => {
    await place.session.setPolicy(toPolicy("open", `${host()}=127.0.0.1`));
    const { socket } = await openEcho();
    await place.session.setPolicy(toPolicy("allowlist", `${host()}=127.0.0.1`));

    await readToEnd(socket);
    expect(socket.destroyed).toBe(true);
  });

  it("stops a tunnel that is about to start", async () => {
    const { socket } = await openTunnel(place.socketPath, host());
    await place.session.setPolicy(toPolicy("none"));
    connectTls({ socket, servername: "allowed.test" }).on("error", () => {});

    await readToEnd(socket);
    expect(origin.connections()).toBe(0);
  });

  it("is not needed for a new session to refuse everything", async () => {
    const closed = await place.proxy.open({ socketPath: `${place.socketPath}2` });
    const { head } = await openTunnel(`${place.socketPath}2`, host());

    expect(head).toMatch(/^HTTP\/1\.1 403 .*no network is allowed/s);
    await closed.close();
  });

  it("affects one session only, as does its report", async () => {
    const other = await place.proxy.open({ socketPath: `${place.socketPath}2` });
    await other.setPolicy(toPolicy("none"));
    const { tls } = await openEcho();

    expect(await other.take()).toEqual({ allowed: [], denied: [] });
    expect((await place.session.take()).allowed).toHaveLength(1);
    tls.destroy();
  });

  it("is impossible after the session is closed, which closes its connections", async () => {
    const { socket } = await openEcho();
    await place.session.close();

    await readToEnd(socket);
    expect((await openTunnel(place.socketPath, host()).catch(() => ({ head: "gone" }))).head).toBe("gone");
  });

  it("rejects a path that would be truncated, and opens no socket there", async () => {
    await expect(place.proxy.open({ socketPath: `/tmp/${"x".repeat(120)}` })).rejects.toMatchObject({
      code: "CONFIG_INVALID",
    });
  });
});
