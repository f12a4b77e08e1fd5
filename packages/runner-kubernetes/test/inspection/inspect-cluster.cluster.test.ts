import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createOwner } from "@budgie/core";
import { findClusterLack, shareCluster, type Cluster } from "@budgie/testkit";
import { connectCluster } from "../../src/api/connect-cluster.ts";
import { inspectCluster } from "../../src/inspection/index.ts";
import { holdLease } from "../../src/lease/hold-lease.ts";
import { createFakeClock } from "../helpers/fake-clock.ts";
import { writeKubeconfig } from "../helpers/fake-api.ts";
import { installChart } from "../pod/install-chart.ts";

const [WHOLE, BARE] = ["inspected", "inspected-bare"];
const IMAGES = { image: "registry.example.com/budgie/agents:1", sidecarImage: "registry.example.com/budgie/pod:1" };
const lack = findClusterLack();

describe.skipIf(lack !== undefined)("a cluster with the chart", () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await shareCluster([WHOLE, BARE]);
    await installChart(cluster, WHOLE);
    await cluster.kubectl(["create", "namespace", BARE]);
    await cluster.kubectl(["-n", BARE, "wait", "--for=create", "serviceaccount/default", "--timeout=60s"]);
  }, 300_000);
  afterAll(() => cluster?.[Symbol.asyncDispose](), 60_000);

  /** Writes a kubeconfig with the login of budgie's account, which has the chart's Role and nothing else. */
  async function toAccount(): Promise<string> {
    const { stdout: token } = await cluster.kubectl(["-n", WHOLE, "create", "token", "budgie"]);
    const config = readFileSync(cluster.kubeconfig, "utf8");
    const [, server = ""] = /server: "([^"]+)"/.exec(config) ?? [];
    const [, authority = ""] = /certificate-authority-data: ([^,}\s]+)/.exec(config) ?? [];
    return writeKubeconfig({ server, "certificate-authority-data": authority }, { token: token.trim() });
  }

  async function inspect(kubeconfig: string, namespace: string): Promise<readonly string[]> {
    const owner = createOwner({ stateDir: makeFolder() });
    const findings = await inspectCluster({ kubeconfig, namespace, owner, ...IMAGES });
    return findings.map(({ state, what }) => `${state} ${what}`);
  }

  it("has all that budgie's account needs, and is told apart from a namespace with nothing", async () => {
    const whole = ["ok cluster", "ok rights", "ok pod", "ok security", "ok policy", "ok quota"];

    expect(await inspect(await toAccount(), WHOLE)).toEqual(whole);
    expect(await inspect(cluster.kubeconfig, BARE)).toEqual([
      "ok cluster",
      "ok rights",
      "ok pod",
      "failed security",
      "failed policy",
      "note quota",
    ]);
    expect(await inspect(await toAccount(), BARE)).toEqual(
      expect.arrayContaining(["failed rights", "failed pod", "note security"]),
    );
    expect(await inspect(cluster.kubeconfig, "gone")).toContain("failed namespace");
  });

  it("lets the account renew its lease", async () => {
    const owner = createOwner({ stateDir: makeFolder() });
    const clock = createFakeClock();
    const account = await connectCluster({ kubeconfig: await toAccount(), namespace: WHOLE });
    const lease = await holdLease(account, owner.record, clock);
    const readTime = async () => {
      const answer = await account.get("leases", lease.reference.name);
      return answer.outcome === "done" ? answer.object.spec["renewTime"] : undefined;
    };
    const before = await readTime();

    clock.advance(10_000);

    await expect.poll(readTime).not.toBe(before);
    expect(lease.isFresh()).toBe(true);
    await lease.release();
  });
});

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "budgie-inspect-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}
