import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findClusterLack } from "@budgie/testkit";
import { createGate } from "../../src/proof/gate.ts";
import type { Wall } from "../../src/proof/judge-walls.ts";
import { probeBeside } from "../../src/proof/probe-beside.ts";
import { startGateCluster, type GateCluster, type OpenedPod } from "./gate-cluster.ts";

const lack = findClusterLack();
// The usual reporter does not print titles of what it skips.
if (lack !== undefined) process.stderr.write(`Skipped: ${lack}\n`);

const OPEN = {
  apiVersion: "networking.k8s.io/v1",
  kind: "NetworkPolicy",
  metadata: { name: "open" },
  spec: { podSelector: {}, policyTypes: ["Egress"], egress: [{}] },
};

describe.skipIf(lack !== undefined)("the gate of a cluster", () => {
  let place: GateCluster;
  let opened: OpenedPod;

  beforeAll(async () => {
    place = await startGateCluster("gate");
    opened = await place.openPod();
  }, 300_000);
  afterAll(() => place?.[Symbol.asyncDispose](), 60_000);

  const prove = ({ pod, run }: OpenedPod, accepted: readonly Wall[] = []) =>
    createGate(place.cluster, { accepted, ports: [8080], pauseMs: 200 }).prove(pod, {
      run,
      probe: (words) => probeBeside(pod, words),
    });

  it("lets a Pod pass with a policy and a jail, whether the node can be reached without them or not", async (test) => {
    test.skip(opened.pod.kernel.landlock < 4, "Landlock of this kernel knows no ports");
    expect(opened.pod).toMatchObject({ nodeAddress: place.node, service: "10.96.0.1:443" });

    expect(await prove(opened)).toEqual([]);
    const closed = ["PREROUTING", "-i", "cni0", "-m", "addrtype", "--dst-type", "LOCAL", "-j", "DROP"];
    place.inNode(["iptables", "-t", "mangle", "-A", ...closed]);
    try {
      expect(await prove(opened)).toEqual([]);
    } finally {
      place.inNode(["iptables", "-t", "mangle", "-D", ...closed]);
    }
  });

  it("refuses a Pod whose own node listens where the jail leaves ports open, unless that is accepted", async () => {
    // Linux would choose the first of these too, but not in a Pod.
    await using _other = await place.listen(45_678);
    await using _ephemeral = await place.listen(50_678);
    await expect(prove(opened)).rejects.toMatchObject({
      code: "RUNNER_UNAVAILABLE",
      message: expect.stringMatching(/its own node listens: 50678\..* own-node\.$/),
    });
    expect(await prove(opened, ["own-node"])).toMatchObject([{ wall: "own-node" }]);

    await using _port = await place.listen(8080);
    await expect(prove(opened)).rejects.toThrow("its own node listens: 8080, 50678.");
  });

  it("refuses a Pod that another policy opens, though the jail holds, unless that is accepted", async () => {
    await place.kubectl(["apply", "-f", "-"], JSON.stringify(OPEN));
    try {
      await expect.poll(() => prove(opened, ["policy"]), { timeout: 100_000 }).toMatchObject([{ wall: "policy" }]);
      await expect(prove(opened)).rejects.toMatchObject({
        code: "RUNNER_UNAVAILABLE",
        message: expect.stringMatching(/the network policy did not keep a process from the API server .* policy\.$/),
      });
    } finally {
      await place.kubectl(["delete", "networkpolicy", "open"]);
    }
    await expect.poll(() => prove(opened), { timeout: 100_000 }).toEqual([]);
  });

  it("refuses a new Pod while nothing enforces the policy", async () => {
    place.signalEnforcer("STOP");
    let late: OpenedPod;
    try {
      late = await place.openPod();
      await expect(prove(late)).rejects.toThrow("the network policy did not keep a process from the API server");
    } finally {
      place.signalEnforcer("CONT");
    }
    await expect.poll(() => prove(late).catch(String), { timeout: 100_000 }).toEqual([]);
    await late.pod.remove();
  });
});
