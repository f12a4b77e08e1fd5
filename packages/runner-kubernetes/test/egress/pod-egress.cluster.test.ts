import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EgressPolicy } from "@budgie/core";
import { createProxyFolder, type ProxyFolder } from "@budgie/sandbox/egress";
import { findClusterLack, serveOnLoopback } from "@budgie/testkit";
import { createPodEgress, type PodEgress } from "../../src/egress/pod-egress.ts";
import { toPodVariables } from "../../src/egress/to-pod-variables.ts";
import { sendTrust } from "../../src/egress/trust.ts";
import { startPods, type TestPod, type TestPods } from "../helpers/start-pods.ts";
import { allow } from "./run-egress.ts";

const lack = findClusterLack();
// The usual reporter does not print titles of what it skips.
if (lack !== undefined) process.stderr.write(`Skipped: ${lack}\n`);

const NONE: EgressPolicy = { mode: "none", hosts: [] };

describe.skipIf(lack !== undefined)("the network of a Pod on a cluster", () => {
  let stateDir: string;
  let sockets: ProxyFolder;
  let pods: TestPods;
  let egress: PodEgress;
  let pod: TestPod;

  beforeAll(async () => {
    stateDir = mkdtempSync(join(tmpdir(), "budgie-"));
    sockets = createProxyFolder({ stateDir, instance: randomUUID(), upstream: undefined });
    pods = await startPods("egress");
    egress = createPodEgress(sockets.reserve());
    pod = await pods.open({ carry: (stream) => egress.carry(stream) });
  }, 300_000);
  afterAll(async () => {
    await egress?.close();
    await sockets?.close();
    await pods?.[Symbol.asyncDispose]();
    rmSync(stateDir, { recursive: true });
  }, 60_000);

  async function run(script: string, hasProxy = true): Promise<string> {
    const variables = toPodVariables({ env: {}, hasProxy, hasTrust: true });
    return (await pod.run({ argv: ["bash", "-c", script], ...variables, directory: "/home/agent" })).stdout;
  }

  it("leads to a server that the policy allows, and to nothing else", async () => {
    await using server = await serveOnLoopback(createServer((_, response) => response.end("an answer")));
    const network = egress.join(allow(server.port, "allowlist"));
    await network.guarded;
    const get = (authority: string): string =>
      `exec 3<>/dev/tcp/127.0.0.1/3128 && printf 'GET http://${authority}/ HTTP/1.1\\r\\nhost: ${authority}\\r\\n\\r\\n' >&3 && cat <&3`;

    expect(await run(get(`server.test:${server.port}`))).toMatch(/^HTTP\/1\.1 200 .*an answer/s);
    expect(await run(get("other.test"))).toMatch(/^HTTP\/1\.1 403 /);
    expect(await run(`exec 3<>/dev/tcp/${pod.nodeAddress}/6443 && echo reached || echo stopped`)).toBe("stopped\n");
    expect(await network.take()).toMatchObject({
      allowed: [{ host: "server.test", count: 1 }],
      denied: [{ host: "other.test", count: 1 }],
    });
    await network.close();
  }, 60_000);

  it("leads nowhere for a process that may connect nowhere", async () => {
    const network = egress.join(NONE);

    expect(network.hasProxy).toBe(false);
    expect(await run("exec 3<>/dev/tcp/127.0.0.1/3128; echo x >&3; cat <&3 || true; env", false)).not.toMatch(
      /HTTP\/1|_PROXY=/i,
    );
    await network.close();
  }, 60_000);

  it("trusts the user's certificates, which an agent can read and not change", async () => {
    await sendTrust(pod.wire, { pem: Buffer.from("certificates"), java: Buffer.from("a store") });

    const script =
      'cat "$SSL_CERT_FILE" && for file in /budgie/ca.pem /budgie/ca.p12 /budgie/new; do (echo x >$file) 2>/dev/null && echo written; rm -f $file 2>/dev/null && echo removed; done; ls /budgie';
    expect(await run(script)).toMatch(/^certificates(?!.*(?:written|new)).*ca\.p12\nca\.pem\n/s);
  }, 60_000);

  it("tells a process nothing of the cluster, and the process of itself what it needs", async () => {
    const lines = (await run("env; id -u; df -P /tmp | tail -1")).split("\n");

    expect(lines.filter((line) => line.startsWith("KUBERNETES_"))).toEqual([]);
    expect(lines).toEqual(
      expect.arrayContaining(["HOME=/home/agent", "TMPDIR=/tmp", "HTTPS_PROXY=http://127.0.0.1:3128"]),
    );
    expect(lines.find((line) => line.startsWith("PATH="))).toContain("/usr/bin");
  }, 60_000);
});
