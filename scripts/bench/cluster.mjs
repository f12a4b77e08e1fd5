// Measures turns in Pods on a real node beside "kubectl run", and bytes through the connection to a Pod, also after a cut. Needs `scripts/test-cluster build` and
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
import { measureCuts, measurePrinting, openClusterProxy } from "./lib/cluster-wire.mjs";
import { interleave, median } from "./lib/interleave.mjs";
import { parseStatus } from "./lib/read-memory.mjs";
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
const REST_MS = 2_000;
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
  const { kubeconfig, proxy } = await openClusterProxy(server.kubeconfig);
  const runners = [];
  try {
    await server.kubectl(["create", "namespace", NAME]);
    await server.kubectl(["-n", NAME, "create", "-f", "-"], JSON.stringify(POLICY));
    for (const namespace of [NAME, "default"])
      await server.kubectl(["-n", namespace, "wait", "--for=create", "sa/default", "--timeout=100s"]);
    const limits = { cpus: 0.1, memoryBytes: 2 ** 28, diskBytes: 2 ** 27 };
    const where = { namespace: NAME, image: images[0], sidecarImage: images[1] };
    const open = async (access) => {
      const own = { stateDir: join(stateDir, String(runners.length)) };
      const owner = createOwner(own);
      const runner = await createKubernetesRunner({ ...where, ...access, ...own, owner, limits });
      runners.push({ runner, owner });
      return runner;
    };
    const place = { directory: stateDir, runner: await open({ kubeconfig: server.kubeconfig, ahead: 1 }) };
    const turns = await measure(server, place, rounds);
    // After the turns, which would share the node with its Pod.
    const cuts = await measureCut({ directory: stateDir, runner: await open({ kubeconfig }) }, proxy, rounds);
    return { rows: [...turns.rows, ...cuts.rows], over: [...turns.over, ...cuts.over] };
  } finally {
    for (const { owner, runner } of runners) {
      await runner.close();
      await owner.release();
    }
    proxy.close();
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
  const eight = async (run) => {
    // The node still removes the Pods of the case before.
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    return timed(() => Promise.all(Array.from({ length: 8 }, run)));
  };
  const turn = async (session) => {
    const child = await start(session, directory, ["true"]);
    for (const stream of [child.stdout, child.stderr]) stream.resume();
    await child.exit;
  };
  const first = async (id) => {
    const session = await openFilled(runner, id);
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
    [EIGHT]: async () => [(await eight(kubectlRun))[0]],
    "8 first turns at once": async () => {
      const [time, sessions] = await eight(() => first());
      await Promise.all(sessions.map((session) => session.remove()));
      return [time];
    },
  };
  const times = await interleave(cases, rounds, 1);
  const rows = toRows(times, (title) =>
    title.startsWith("8 first") ? EIGHT : title.includes("turn") ? KUBECTL : undefined,
  );
  const printing = await measurePrinting({
    start: (argv) => start(held, directory, argv),
    readSidecar: () => readSidecar(server, held.id),
  });
  const bytes = await measureBytes(held, rounds);
  return { rows: [...rows, ...printing.rows, ...bytes], over: [...findOver(rows, LIMITS), ...printing.over] };
}

async function measureCut({ directory, runner }, proxy, rounds) {
  const session = await openFilled(runner);
  return measureCuts({ proxy, start: (argv) => start(session, directory, argv) }, rounds);
}

/** Opens a session with an empty copy, and with its Pod. */
async function openFilled(runner, id = createSessionId()) {
  const session = await runner.openSession(id);
  await session.copy().fill((async function* () {})());
  return session;
}

function start(session, directory, argv) {
  const access = { workspace: "copy", egress: { mode: "none", hosts: [] }, limits: {} };
  return session.start({ argv, env: {}, projections: [] }, { directory, access, input: "" });
}

/** Returns the memory of the program in a session's sidecar. */
async function readSidecar(server, session) {
  const list = ["get", "pods", "-l", `dev.budgie.session=${session}`, "-o", "jsonpath={.items[0].metadata.name}"];
  const { stdout: pod } = await server.kubectl(["-n", NAME, ...list]);
  const read = ["exec", pod, "-c", "budgie", "--", "cat", "/proc/1/status"];
  return parseStatus((await server.kubectl(["-n", NAME, ...read])).stdout);
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
