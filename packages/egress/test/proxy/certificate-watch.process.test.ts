import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer as createTcpServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { connect as connectTls, createServer as createTlsServer, type SecureVersion } from "node:tls";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { CERTIFICATE_REFUSED, type EgressDenial } from "@budgie/core/egress";
import { createCertificate } from "../helpers/certificate.ts";
import { createProxyPlace, openTunnel, toPolicy, watch, type Origin, type ProxyPlace } from "../helpers/proxy-place.ts";

const HOST = "allowed.test";

const certificate = createCertificate();
const folder = mkdtempSync(join(tmpdir(), "budgie-authority-"));
const authority = join(folder, "authority.pem");
let origin: Origin;
beforeAll(async () => {
  writeFileSync(authority, certificate.cert);
  const server: Server = createTlsServer(certificate, (socket) => {
    socket.on("error", () => undefined).once("data", () => socket.end("hello"));
  });
  origin = await watch(server, "connection");
});
afterAll(async () => {
  await origin.close();
  rmSync(folder, { recursive: true });
});

type Client = { readonly version: SecureVersion; readonly trusts: boolean };

/** Asks like Node's programs, which finish the handshake before they judge the certificate. */
async function askWithNode({ trusts, version }: Client, question = "?"): Promise<void> {
  const { socket } = await openTunnel(place.socketPath, `${HOST}:${origin.port}`);
  const ca = trusts ? certificate.cert : [];
  const tls = connectTls({ socket, servername: HOST, ca, minVersion: version, maxVersion: version });
  tls.once("secureConnect", () => (question === "" ? tls.destroy() : tls.write(question)));
  await text(tls).catch(() => undefined);
}

/** Asks like most programs, which end the handshake with an alert. */
async function askWithOpenssl({ trusts, version }: Client): Promise<void> {
  const bridge = createTcpServer((socket) => {
    const proxy = connect(place.socketPath).on("error", () => undefined);
    socket
      .on("error", () => undefined)
      .pipe(proxy)
      .pipe(socket);
  });
  const { port } = await watch(bridge, "connection");
  const target = ["-servername", HOST, "-connect", `${HOST}:${origin.port}`, "-proxy", `127.0.0.1:${port}`];
  const trust = [
    "-verify_return_error",
    "-no-CApath",
    "-no-CAstore",
    ...(trusts ? ["-CAfile", authority] : ["-no-CAfile"]),
  ];
  const child = spawn("openssl", ["s_client", ...target, ...trust, version === "TLSv1.2" ? "-tls1_2" : "-tls1_3"], {
    stdio: ["pipe", "ignore", "ignore"],
  });
  child.stdin.on("error", () => undefined).write("?");
  await once(child, "close");
  bridge.close();
}

const REFUSED = { host: HOST, why: CERTIFICATE_REFUSED };

let place: ProxyPlace;

describe.each(["allowlist", "open"] as const)("a session's proxy with the policy %s", (mode) => {
  beforeEach(async () => {
    place = await createProxyPlace(toPolicy(mode, `${HOST}:${origin.port}=127.0.0.1`));
  });
  afterEach(() => place.close());

  /** Takes the log until it says that a connection failed: a proxy learns of a connection's end later than its client. */
  async function takeFailed(): Promise<readonly EgressDenial[]> {
    let failed: readonly EgressDenial[] = [];
    const take = async (): Promise<number> => (failed = (await place.session.take()).failed ?? []).length;
    await expect.poll(take, { interval: 10, timeout: 10_000 }).toBeGreaterThan(0);
    return failed;
  }

  const versions: readonly SecureVersion[] = ["TLSv1.2", "TLSv1.3"];

  it.each(
    versions.flatMap((version) => [
      ["Node", version, askWithNode] as const,
      ["OpenSSL", version, askWithOpenssl] as const,
    ]),
  )("reports that a program with %s and %s did not accept a certificate", async (_, version, ask) => {
    await ask({ version, trusts: false });

    expect(await takeFailed()).toEqual([{ ...REFUSED, port: origin.port, count: 1 }]);
  });

  it.each(versions)(
    "reports no program that accepts it, nor a connection that nobody then needed, with %s",
    async (version) => {
      await askWithOpenssl({ version, trusts: true });
      await askWithNode({ version, trusts: true });
      await askWithNode({ version, trusts: true }, "");
      await askWithOpenssl({ version, trusts: false });

      expect(await takeFailed()).toEqual([{ ...REFUSED, port: origin.port, count: 1 }]);
    },
  );
});
