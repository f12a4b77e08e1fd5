import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSessionId, type AllowedHost, type EgressPolicy, type Runner, type RunnerSession } from "@budgie/core";
import { BASE_IMAGE, KIRO_IMAGE, createDockerPlace, run } from "../helpers/docker-place.ts";
import { buildImage, type TestImage } from "../image/build-image.ts";
import { buildNodeImage, createWebServer, runWith, type Reached, type WebServer } from "./egress-place.ts";

const NONE: EgressPolicy = { mode: "none", hosts: [] };
const BRIDGE: EgressPolicy = { mode: "bridge", hosts: [] };
const allowing = (...hosts: readonly AllowedHost[]): EgressPolicy => ({ mode: "allowlist", hosts });

const place = createDockerPlace();
let web: WebServer;
let image: TestImage;
beforeAll(async () => {
  [web, image] = await Promise.all([createWebServer(), buildNodeImage()]);
});
afterAll(async () => {
  await web[Symbol.asyncDispose]();
  try {
    await place[Symbol.asyncDispose]();
  } finally {
    await image[Symbol.asyncDispose]();
  }
});

describe.each(["host", "container"] as const)("with its proxy in a process of the %s, a turn", (proxyPlacement) => {
  let runner: Runner;
  let session: RunnerSession;
  beforeAll(async () => {
    ({ runner } = await place.createRunner({ proxyPlacement, image: image.name }));
    session = await runner.openSession(createSessionId());
  });
  const reach = (policy: EgressPolicy, script: string): Promise<Reached> =>
    runWith(session, place.workspace, { policy, script });

  it("reaches what its policy allows, and reports it", async () => {
    const { egress, stdout } = await reach(allowing(web.allowed("web.test")), "ask web.test:8080; ask web.test:8080");

    expect(stdout.match(/hello from web\.test:8080/g)).toHaveLength(2);
    expect(egress).toEqual({ allowed: [{ host: "web.test", port: 8080, count: 2 }], denied: [] });
  });

  it("reaches nothing else, gets the refused host and the reason, and reports it", async () => {
    const { egress, stdout } = await reach(allowing(web.allowed("web.test")), "ask other.test:8080");

    expect(stdout).toMatch(/^HTTP\/1\.1 403 /);
    expect(stdout).toContain("other.test");
    expect(egress?.allowed).toEqual([]);
    expect(egress?.denied).toMatchObject([{ host: "other.test", port: 8080, count: 1 }]);
  });

  it("sets the usual variables, with which programs find the proxy", async () => {
    const script = "/usr/lib/apt/apt-helper download-file http://web.test:8080/ /tmp/page >/dev/null && cat /tmp/page";

    expect((await reach(allowing(web.allowed("web.test")), script)).stdout).toBe("hello from web.test:8080\n");
  });

  it("can be open: every host is requested from the proxy, and reported", async () => {
    const { egress, stdout } = await reach({ mode: "open", hosts: [web.allowed("web.test")] }, "ask web.test:8080");

    expect(stdout).toContain("hello from web.test:8080");
    expect(egress?.allowed).toEqual([{ host: "web.test", port: 8080, count: 1 }]);
  });

  it("reaches nothing past the proxy, except with bridge", async () => {
    const direct = `ls /sys/class/net; timeout 5 bash -c 'cat </dev/tcp/${web.address}/${web.port}' && echo got through`;
    const probe = direct.replace("cat <", "exec 3<>");

    expect((await reach(allowing(web.allowed("web.test")), probe)).stdout).toBe("lo\n");
    expect((await reach(NONE, probe)).stdout).toBe("lo\n");
    const bridge = await reach(BRIDGE, probe);
    expect(bridge.stdout).toContain("got through");
    expect(bridge.egress).toBeUndefined();
  });

  it("has no proxy with none, even right after a turn with a proxy", async () => {
    await reach(allowing(web.allowed("web.test")), "ask web.test:8080");
    const { egress, stderr, stdout } = await reach(NONE, "ask web.test:8080; env | grep -ci proxy");

    expect({ stdout, egress }).toEqual({ stdout: "0\n", egress: undefined });
    expect(stderr).toContain("Connection refused");
  });

  it("does not keep the previous turn's policy", async () => {
    expect((await reach(allowing(web.allowed("web.test")), "ask web.test:8080")).stdout).toContain("hello");

    const { stdout } = await reach(allowing(web.allowed("next.test")), "ask web.test:8080; ask next.test:8080");

    expect(stdout).toMatch(/^HTTP\/1\.1 403 /);
    expect(stdout).toContain("hello from next.test");
  });

  it("does not share another session's policy at the same time", async () => {
    const other = await runner.openSession(createSessionId());
    const script = "sleep 1; ask web.test:8080; ask other.test:8080";

    const [here, there] = await Promise.all([
      reach(allowing(web.allowed("web.test")), script),
      runWith(other, place.workspace, { policy: allowing(web.allowed("other.test")), script }),
    ]);

    expect(here.stdout.match(/hello from .*/g)).toEqual(["hello from web.test:8080"]);
    expect(there.stdout.match(/hello from .*/g)).toEqual(["hello from other.test:8080"]);
    expect(here.egress?.denied).toMatchObject([{ host: "other.test" }]);
    expect(there.egress?.denied).toMatchObject([{ host: "web.test" }]);
  });

  it("is refused while another process of its session has another policy", async () => {
    const policy = allowing(web.allowed("web.test"));
    const [slow, same, other] = await Promise.allSettled([
      reach(policy, "sleep 1"),
      reach(policy, "ask web.test:8080"),
      reach(allowing(), "true"),
    ]);

    expect(slow.status).toBe("fulfilled");
    expect(same).toMatchObject({ value: { stdout: expect.stringContaining("hello") } });
    expect(other).toMatchObject({ reason: { code: "INPUT_INVALID", message: expect.stringContaining("policy") } });
  });
});

describe("a proxy that needs a container", () => {
  it("reports the remedy if the image has no node, and other turns work", async () => {
    const { runner } = await place.createRunner({ proxyPlacement: "container", image: BASE_IMAGE });
    const session = await runner.openSession(createSessionId());

    await expect(runWith(session, place.workspace, { policy: allowing(), script: "true" })).rejects.toMatchObject({
      code: "RUNNER_UNAVAILABLE",
      message: expect.stringMatching(/node.*"none" or "bridge"/s),
    });
    expect((await run(session, place.workspace, "echo fine")).stdout).toBe("fine\n");
  });

  it("reports the error of the image's node", async () => {
    const script = "#!/bin/sh\\necho no such option >&2\\nexit 9\\n";
    const lines = [`FROM ${KIRO_IMAGE}`, "USER root", `RUN printf '${script}' >/usr/local/bin/node`];
    await using odd = await buildImage([...lines, "RUN chmod +x /usr/local/bin/node", ""].join("\n"));
    const { runner } = await place.createRunner({ proxyPlacement: "container", image: odd.name });
    const session = await runner.openSession(createSessionId());

    await expect(runWith(session, place.workspace, { policy: allowing(), script: "true" })).rejects.toMatchObject({
      code: "RUNNER_UNAVAILABLE",
      message: expect.stringMatching(/did not start.*20\.19 or later\. It said: no such option$/),
    });
    await runner.close();
  });
});

it("trusts the user's certificates, and cannot change them", async () => {
  const caFile = join(place.root, "ca.pem");
  writeFileSync(caFile, "the certificates\n");
  const { runner } = await place.createRunner({ caFile });
  const session = await runner.openSession(createSessionId());
  const script = 'cat "$SSL_CERT_FILE"; (echo x >>"$NODE_EXTRA_CA_CERTS") 2>/dev/null || echo read-only';

  const { stdout } = await runWith(session, place.workspace, { policy: NONE, script });

  expect(stdout).toBe("the certificates\nread-only\n");
});
