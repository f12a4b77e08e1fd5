// Measures turns in Pods on a real node beside "kubectl run", and bytes through the connection to a Pod. Needs `scripts/test-cluster build` and
// `scripts/kubernetes-image`, and root.
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { createOwner, createSessionId } from "../../packages/core/dist/index.js";
import { createKubernetesRunner } from "../../packages/runner-kubernetes/dist/index.js";
import { startCluster } from "../../packages/testkit/dist/cluster/start-cluster.js";
import { interleave, median } from "./lib/interleave.mjs";
import { findOver, toFigure, toRows } from "./lib/table.mjs";

const NAME = "bench";
const [IMAGE, SIDECAR] = ["budgie-demo", "budgie-kubernetes"];
const KUBECTL = "kubectl run --rm -i IMAGE -- true";
const EIGHT = "8 × kubectl run at once";
// Of the issue that the runner was built for.
const LIMITS = {
  "first turn": 0.75,
  "first turn from a ready Pod": 0.15,
  "follow-up turn": 0.05,
  "8 first turns at once": 0.75,
};
const CONTENT = randomBytes(100 * 2 ** 20);
const POLICY = {
  apiVersion: "networking.k8s.io/v1",
  kind: "NetworkPolicy",
  metadata: { name: "deny-all" },
  spec: { podSelector: {}, policyTypes: ["Ingress", "Egress"] },
};

export async function measureCluster(rounds) {
  // A fixed tag, which nodes do not ask a registry for.
  const images = [IMAGE, SIDECAR].map((image) => `${image}:${NAME}`);
  for (const image of images) execFileSync("docker", ["tag", image.replace(/:.*/, ":latest"), image]);
  const server = await startCluster(NAME, images);
  const stateDir = await mkdtemp(join(tmpdir(), "budgie-bench-"));
  const owner = createOwner({ stateDir });
  let runner;
  try {
    await server.kubectl(["create", "namespace", NAME]);
    await server.kubectl(["-n", NAME, "create", "-f", "-"], JSON.stringify(POLICY));
    for (const namespace of [NAME, "default"])
      await server.kubectl(["-n", namespace, "wait", "--for=create", "sa/default", "--timeout=100s"]);
    const limits = { cpus: 0.1, memoryBytes: 2 ** 28, diskBytes: 2 ** 27 };
    const where = { kubeconfig: server.kubeconfig, namespace: NAME, image: images[0], sidecarImage: images[1] };
    runner = await createKubernetesRunner({ ...where, owner, stateDir, limits, ahead: 1 });
    return await measure(server, { runner, directory: stateDir }, rounds);
  } finally {
    await runner?.close();
    await owner.release();
    await server[Symbol.asyncDispose]();
    await rm(stateDir, { recursive: true, force: true });
    execFileSync("docker", ["rmi", ...images]);
  }
}

async function measure(server, { directory, runner }, rounds) {
  let count = 0;
  const kubectlRun = () =>
    server.kubectl([
      "run",
      `bench-${count++}`,
      "--rm",
      "-i",
      "--restart=Never",
      `--image=${IMAGE}:${NAME}`,
      "--",
      "true",
    ]);
  const eight = (run) => Promise.all(Array.from({ length: 8 }, run));
  const turn = async (session) => {
    const command = { argv: ["true"], env: {}, projections: [] };
    const access = { workspace: "copy", egress: { mode: "none", hosts: [] }, limits: {} };
    const child = await session.start(command, { directory, access, input: "" });
    for (const stream of [child.stdout, child.stderr]) stream.resume();
    await child.exit;
  };
  const first = async (id = createSessionId()) => {
    const session = await runner.openSession(id);
    await session.copy().fill((async function* () {})());
    await turn(session);
    return session;
  };
  const timed = async (run) => {
    const began = performance.now();
    const kept = await run();
    return [performance.now() - began, kept];
  };
  const held = await first();
  const cases = {
    [KUBECTL]: kubectlRun,
    "first turn": async () => {
      const [time, session] = await timed(() => first());
      await session.remove();
      return [time];
    },
    "first turn from a ready Pod": async () => {
      runner.ahead.prepare();
      while (runner.ahead.count().sessions === 0) await new Promise((resolve) => setTimeout(resolve, 100));
      const [time, session] = await timed(async () => first(await runner.ahead.take()));
      await session.remove();
      return [time];
    },
    "follow-up turn": () => turn(held),
    [EIGHT]: async () => void (await eight(kubectlRun)),
    "8 first turns at once": async () => {
      const [time, sessions] = await timed(() => eight(() => first()));
      await Promise.all(sessions.map((session) => session.remove()));
      return [time];
    },
  };
  const times = await interleave(cases, rounds, 1);
  const rows = toRows(times, (title) =>
    title.startsWith("8 first") ? EIGHT : title.includes("turn") ? KUBECTL : undefined,
  );
  const bytes = await measureBytes(held, rounds);
  return { rows: [...rows, ...bytes], over: findOver(rows, LIMITS) };
}

/** Measures a fill and a read of a copy with one file. */
async function measureBytes(session, rounds) {
  const copy = session.copy();
  const speeds = { fill: [], read: [] };
  for (let round = 0; round < rounds; round++) {
    const speedOf = async (run) => {
      const began = performance.now();
      await run();
      return (CONTENT.length / 2 ** 20 / (performance.now() - began)) * 1_000;
    };
    const entry = { path: "file", kind: "file", mode: 0o644, size: CONTENT.length };
    speeds.fill.push(
      await speedOf(() =>
        copy.fill(
          (async function* () {
            yield { entry, content: CONTENT };
          })(),
        ),
      ),
    );
    speeds.read.push(
      await speedOf(async () => {
        for await (const { content } of copy.read()) if (content) await buffer(content);
      }),
    );
  }
  return Object.entries(speeds).map(([what, all]) => toFigure(`${what} of a copy of 100 MiB`, median(all), "MiB/s"));
}
