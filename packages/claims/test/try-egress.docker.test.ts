import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AllowedHost, EgressPolicy } from "@budgie/core";
import { tryEgress, type EgressAnswer } from "@budgie/claims";
import { createDockerTarget } from "@budgie/claims/docker";
import { buildImage } from "../../runner-docker/test/image/build-image.ts";
import { BASE_IMAGE, KIRO_IMAGE, testEngine } from "../../runner-docker/test/helpers/docker-place.ts";
import { CONTAINER_REMOVALS } from "./helpers/remove-protections.ts";
import { createRewritingEngine } from "./helpers/rewriting-engine.ts";

const ENGINE = { image: BASE_IMAGE, home: process.env["HOME"] ?? "/root", hostEnv: process.env };

const REACHED = { state: "as-it-should", text: '"allowed.test:7000" is reached from a sandbox' };
const REFUSED = { state: "as-it-should", text: '"not-allowed.invalid:443" is refused, because it is not allowed' };
const NO_DNS = { state: "as-it-should", text: "no DNS server answers a sandbox" };

// Answers any bytes with plain text, even a TLS hello.
const server = createServer((socket) => socket.once("data", () => socket.end("hello")).on("error", () => undefined));
let serverPort: number;

beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  serverPort = (server.address() as AddressInfo).port;
});
afterAll(() => void server.close());

function allow(host: string, port: number): AllowedHost {
  return { host, port, address: "127.0.0.1", from: "--allow-host" };
}

async function tryPolicy(policy: EgressPolicy, options: Partial<typeof ENGINE> = {}): Promise<readonly EgressAnswer[]> {
  const answers = await tryEgress(
    { target: createDockerTarget({ ...ENGINE, ...options }) },
    { policy, allowed: policy.hosts[0] },
  );
  return answers.map(({ state, text }) => ({ state, text: text.replace(String(serverPort), "7000") }));
}

describe("tryEgress", () => {
  it.each(["allowlist", "open"] as const)("finds everything as it should be with %s", async (mode) => {
    const answers = await tryPolicy({ mode, hosts: [allow("allowed.test", serverPort)] });

    const [reached, refused, resolved] = answers;
    expect([reached, resolved]).toEqual([REACHED, NO_DNS]);
    expect(refused).toEqual(
      mode === "allowlist" ? REFUSED : { ...REFUSED, text: '"127.0.0.1:443" is refused, because it is not allowed' },
    );
  });

  it("finds nothing reachable without a network", async () => {
    expect(await tryPolicy({ mode: "none", hosts: [] })).toEqual([REFUSED, NO_DNS]);
  });

  it("reports an allowed host that is unreachable", async () => {
    const closed = createServer();
    await once(closed.listen(0, "127.0.0.1"), "listening");
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));

    const answers = await tryPolicy({ mode: "allowlist", hosts: [allow("allowed.test", port)] });

    const text = `"allowed.test:${port}" is allowed (--allow-host), but not reached from a sandbox: it could not be reached`;
    expect(answers).toEqual([{ state: "broken", text }, REFUSED, NO_DNS]);
  });

  it("reports a host that is not refused", async () => {
    const [, refused] = await tryPolicy({ mode: "allowlist", hosts: [allow("not-allowed.invalid", 443)] });

    expect(refused).toEqual({
      state: "broken",
      text: '"not-allowed.invalid:443" is not allowed, and was not refused: the proxy lets it through',
    });
  });

  it("reports a network around the proxy and a DNS server in it", async () => {
    await using resolver = await createResolver();
    await using engine = await createRewritingEngine(async (body) => {
      CONTAINER_REMOVALS["name-files"](body);
      body.HostConfig.NetworkMode = "bridge";
      body.HostConfig.Dns = [resolver.address];
    });

    const policy: EgressPolicy = { mode: "allowlist", hosts: [allow("allowed.test", serverPort)] };
    const [reached, refused, resolved] = await tryPolicy(policy, { hostEnv: engine.hostEnv });

    expect([reached, refused]).toEqual([
      { state: "broken", text: expect.stringContaining("not reached from a sandbox: no proxy answers") },
      { state: "broken", text: expect.stringContaining("was not refused: no proxy answers") },
    ]);
    expect(resolved).toEqual({ state: "broken", text: `a DNS server answers a sandbox: ${resolver.address}` });
  });

  it("says that it cannot try without perl", async () => {
    await using image = await buildImage(`FROM ${BASE_IMAGE}\nUSER root\nRUN rm -f /usr/bin/perl*\n`);

    const answers = await tryPolicy(
      { mode: "allowlist", hosts: [allow("allowed.test", serverPort)] },
      { image: image.name },
    );

    expect(answers.map(({ state }) => state)).toEqual(["untried", "untried", "untried"]);
    expect(answers[0]?.text).toBe('"allowed.test:7000" was not tried: the image has no perl');
  });
});

/** Starts a DNS server in a container, which answers NXDOMAIN to everything. */
async function createResolver(): Promise<AsyncDisposable & { readonly address: string }> {
  const serve = `const server = require("node:dgram").createSocket("udp4");
    server.on("message", (m, { address, port }) => { m[2] |= 128; m[3] = 3; server.send(m, port, address); });
    server.bind(53, () => console.log("ready"));`;
  const docker = await testEngine();
  const container = await docker.createContainer({
    name: `budgie-test-resolver-${process.pid}`,
    Image: KIRO_IMAGE,
    User: "0:0",
    Entrypoint: ["/usr/local/lib/kiro-cli/node", "-e", serve],
    Tty: true,
    HostConfig: { Init: true },
  });
  await container.start();
  const said = await container.logs({ follow: true, stdout: true });
  await once(said, "data");
  const { NetworkSettings } = await container.inspect();
  return {
    address: NetworkSettings.Networks["bridge"]?.IPAddress ?? "",
    [Symbol.asyncDispose]: () => container.remove({ force: true }),
  };
}
