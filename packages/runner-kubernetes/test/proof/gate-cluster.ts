import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { fileURLToPath } from "node:url";
import { createNamespace, startCluster, type Cluster as TestCluster } from "@budgie/testkit";
import { connectCluster, type Cluster } from "../../src/api/index.ts";
import type { ProcessOrder } from "../../src/requests/index.ts";
import { SHAPE } from "../helpers/pod-shape.ts";
import { holdPods, type TestPod } from "../helpers/start-pods.ts";

/** A Pod, and a way to run processes in it. */
export type OpenedPod = { readonly pod: TestPod; readonly run: (order: ProcessOrder) => Promise<string> };

/** A cluster whose API server is reached from elsewhere than its node, as it is on most clusters. */
export type GateCluster = AsyncDisposable & {
  readonly cluster: Cluster;
  /** Address of its node */
  readonly node: string;
  readonly kubectl: (argv: readonly string[], input?: string) => Promise<string>;
  readonly openPod: () => Promise<OpenedPod>;
  /** Runs a command in the node's network */
  readonly inNode: (argv: readonly string[]) => string;
  /** Stops what enforces network policies, or lets it go on */
  readonly signalEnforcer: (signal: "STOP" | "CONT") => void;
  /** Listens at a port of the node */
  readonly listen: (port: number) => Promise<AsyncDisposable>;
};

const NAMESPACE = "gate";
const RENDERED = fileURLToPath(new URL("../../../../deploy/rendered.yaml", import.meta.url));
// An ephemeral port would be one that the jail leaves open.
const API_PORT = 6443;
const LISTEN =
  "require('net').createServer((s) => s.end()).listen(+process.argv[1], process.argv[2], () => console.log('listening'))";

/** Starts a cluster with the chart's network policy. */
export async function startGateCluster(name: string): Promise<GateCluster> {
  const server = await startCluster(name, Object.values(SHAPE.images));
  const read = (file: string) => readFileSync(`/tmp/budgie-cluster-${name}/${file}`, "utf8").trim();
  const kubectl = async (argv: readonly string[], input?: string) =>
    (await server.kubectl(["-n", NAMESPACE, ...argv], input)).stdout;
  await createNamespace(server, NAMESPACE);
  await kubectl(["apply", "-f", "-"], findPolicy());
  const node = read("address");
  const forwarder = await forward(node);
  const cluster = await connectCluster({ kubeconfig: writeKubeconfig(server, forwarder), namespace: NAMESPACE });
  const pods = await holdPods(cluster);
  return {
    cluster,
    node,
    kubectl,
    async openPod() {
      // The scan of a node takes a second of a processor. Two have to fit on a small machine's node.
      const pod = await pods.open({ shape: { ...SHAPE, limits: { ...SHAPE.limits, cpus: 0.8 } } });
      return { pod, run: async (order) => (await pod.run(order)).stdout };
    },
    inNode: (argv) => execFileSync("nsenter", ["--target", read("pid"), "--net", ...argv], { encoding: "utf8" }),
    signalEnforcer: (signal) => server.signal("kube-router", signal),
    async listen(port) {
      const argv = ["--target", read("pid"), "--net", process.execPath, "-e", LISTEN, String(port), node];
      const child: ChildProcess = spawn("nsenter", argv, { stdio: ["ignore", "pipe", "inherit"] });
      await once(child.stdout as NonNullable<ChildProcess["stdout"]>, "data");
      return {
        async [Symbol.asyncDispose]() {
          child.kill("SIGKILL");
          await once(child, "exit");
        },
      };
    },
    async [Symbol.asyncDispose]() {
      await pods[Symbol.asyncDispose]();
      forwarder.server.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** Returns the chart's network policy, for the namespace of the test. */
function findPolicy(): string {
  const policy = readFileSync(RENDERED, "utf8")
    .split(/^---$/m)
    .find((document) => document.includes("kind: NetworkPolicy"));
  return String(policy).replace(/namespace: .*/, `namespace: ${NAMESPACE}`);
}

type Forwarder = { readonly server: Server; readonly address: string };

/** Makes the API server reachable at the machine's end of the cable to the node. */
async function forward(node: string): Promise<Forwarder> {
  const [, rest = "", last] = /^(.*\.)(\d+)$/.exec(node) ?? [];
  const address = `${rest}${Number(last) - 1}`;
  const server = createServer((client) => {
    const upstream = connect(API_PORT, node);
    for (const socket of [client, upstream])
      socket.on("error", () => [client, upstream].forEach((one) => one.destroy()));
    client.pipe(upstream).pipe(client);
  }).listen(API_PORT, address);
  await once(server, "listening");
  return { server, address };
}

function writeKubeconfig({ kubeconfig }: TestCluster, { address }: Forwarder): string {
  const path = `${kubeconfig}-elsewhere`;
  const text = readFileSync(kubeconfig, "utf8").replace(
    /server: "[^"]*"/,
    `server: "https://${address}:${API_PORT}", tls-server-name: kubernetes.default.svc`,
  );
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}
