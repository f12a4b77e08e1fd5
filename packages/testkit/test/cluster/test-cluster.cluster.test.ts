import { randomUUID } from "node:crypto";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findClusterLack, startCluster, type Cluster } from "../../src/cluster/start-cluster.ts";
import { listTraces } from "../../src/cluster/list-traces.ts";
import { makePod, makeVisit, SERVER_COMMAND } from "../../src/cluster/make-pod.ts";

const IMAGE = process.env["BUDGIE_TEST_BASE_IMAGE"] ?? "budgie-base";
const IDLE = { image: IMAGE, command: ["sleep", "infinity"] };
// The API server takes a minute to start on a slow machine.
const PATIENT = { timeout: 100_000 };
const NAME = "cluster-test";
const lack = findClusterLack();
// The usual reporter does not print titles of what it skips.
if (lack !== undefined) process.stderr.write(`Skipped: ${lack}\n`);
const state = `/tmp/budgie-cluster-${NAME}`;
const readState = (file: string) => readFileSync(`${state}/${file}`, "utf8").trim();
const enter = (...argv: readonly string[]) => execFileSync("nsenter", ["--target", readState("pid"), ...argv]);

describe.skipIf(lack !== undefined)(`a cluster for tests${lack === undefined ? "" : ` (skipped: ${lack})`}`, () => {
  let cluster: Cluster;
  let address: string;
  const kubectl = async (command: string, input?: string) =>
    (await cluster.kubectl(["--namespace", "restricted", ...command.split(" ")], input)).stdout.trim();
  const visit = async (target: string, port: number) =>
    (await cluster.kubectl(["-n", "restricted", "exec", "visitor", "--", ...makeVisit(target, port)])).stdout.trim();

  beforeAll(async () => {
    cluster = await startCluster(NAME, [IMAGE], { OWN_NODE: "closed" });
    address = readState("address");
    await createNamespace("restricted");
    await kubectl("label namespace restricted pod-security.kubernetes.io/enforce=restricted");
    await kubectl("apply -f -", makePod({ ...IDLE, name: "server", command: SERVER_COMMAND }));
    await kubectl("apply -f -", makePod({ ...IDLE, name: "visitor" }));
    await kubectl("wait --for=condition=Ready pod/server pod/visitor --timeout=120s");
  }, 300_000);
  afterAll(() => cluster?.[Symbol.asyncDispose](), 60_000);

  async function createNamespace(name: string): Promise<void> {
    await cluster.kubectl(["create", "namespace", name]);
    // A controller makes it, and a Pod is refused before.
    await cluster.kubectl(["-n", name, "wait", "--for=create", "serviceaccount/default", "--timeout=60s"]);
  }

  it("is started once", async () => {
    const pid = readState("pid");

    await startCluster(NAME, []);

    expect(readState("pid")).toBe(pid);
  });

  it("refuses a privileged Pod where Pod security is restricted", async () => {
    const creating = kubectl(
      "apply -f -",
      makePod({ ...IDLE, name: "privileged", securityContext: { privileged: true } }),
    );

    await expect(creating).rejects.toThrow('violates PodSecurity "restricted:latest": privileged');
  });

  it("runs a command in a Pod through a WebSocket, and ends its input", async () => {
    const argv = ["-n", "restricted", "exec", "-i", "-v=4", "visitor", "--", "sh", "-c", "cat; id -u"];

    const { stdout, stderr } = await cluster.kubectl(argv, "input\n");

    expect(stdout).toBe("input\n1000\n");
    expect(stderr).toContain("v5.channel.k8s.io");
  });

  it("logs and stores the body of a request", async () => {
    const [secret, other] = [randomUUID(), randomUUID()];
    const grep = (text: string, path: string) =>
      execFileSync("sh", ["-c", 'grep -rlaF -e "$1" "$2" || true', "grep", text, path], { encoding: "utf8" });

    await kubectl(`create configmap told --from-literal=secret=${secret}`);

    expect([grep(secret, cluster.auditLog), grep(other, cluster.auditLog)]).toEqual([`${cluster.auditLog}\n`, ""]);
    expect([grep(secret, cluster.storage), grep(other, cluster.storage)]).toEqual([expect.stringContaining("/"), ""]);
  });

  it("refuses a Pod above the quota", async () => {
    await createNamespace("full");
    await cluster.kubectl(["-n", "full", "create", "quota", "none", "--hard=pods=0"]);
    // A quota counts from when a controller has seen it.
    const counts = "--for=jsonpath={.status.hard.pods}=0";
    await cluster.kubectl(["-n", "full", "wait", counts, "quota/none", "--timeout=60s"]);

    const creating = cluster.kubectl(["-n", "full", "apply", "-f", "-"], makePod({ ...IDLE, name: "more" }));

    await expect(creating).rejects.toThrow("exceeded quota: none");
  });

  it("keeps a Pod from its node where OWN_NODE is closed", async () => {
    expect(await visit(address, 6443)).toBe("blocked");

    enter("--net", "iptables", "-t", "mangle", "-F", "PREROUTING");

    expect(await visit(address, 6443)).toBe("connected");
  });

  it("keeps a Pod from another by a network policy", async () => {
    const server = await kubectl("get pod server -o jsonpath={.status.podIP}");
    await expect.poll(() => visit(server, 8080), PATIENT).toBe("connected");
    const spec = { podSelector: {}, policyTypes: ["Ingress", "Egress"] };
    const policy = { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", metadata: { name: "deny-all" }, spec };

    await kubectl("apply -f -", JSON.stringify(policy));

    await expect.poll(() => visit(server, 8080), PATIENT).toBe("blocked");
  });

  it("starts a program that ended again", async () => {
    const pid = readState("run/kube-apiserver");

    enter("--pid", "--mount", "kill", "-KILL", pid);

    await expect.poll(() => readState("run/kube-apiserver"), PATIENT).not.toBe(pid);
    await expect.poll(() => kubectl("get --raw /readyz").catch(() => ""), PATIENT).toBe("ok");
  });

  it("leaves nothing, also after it was killed", async () => {
    expect(listTraces(NAME, address)).not.toEqual([]);
    process.kill(Number(readState("pid")), "SIGKILL");

    await cluster[Symbol.asyncDispose]();
    await cluster[Symbol.asyncDispose]();

    expect(listTraces(NAME, address)).toEqual([]);
  });
});
