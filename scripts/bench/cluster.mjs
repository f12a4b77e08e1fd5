// Measures turns in Pods on a real node beside "kubectl run", and bytes through the connection to a Pod, also after a cut. Needs `scripts/test-cluster build` and
// `scripts/kubernetes-image`, and root.
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
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
const [EIGHT_KUBECTL, EIGHT] = ["8 × kubectl run at once", "8 first turns at once"];
// The issue that the runner was built for names them.
const LIMITS = {
  "first turn": 0.75,
  "first turn from a ready Pod": 0.15,
  "follow-up turn": 0.05,
  [EIGHT]: 0.75,
};
const REST_MS = 2_000;
const WHERE = { namespace: NAME, limits: { memoryBytes: 2 ** 28, diskBytes: 2 ** 27 } };
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
  const withRunner = async (access, run) => {
    const own = { stateDir: await mkdtemp(join(stateDir, "runner-")) };
    const owner = createOwner(own);
    const runner = await createKubernetesRunner({
      ...WHERE,
      ...access,
      ...own,
      owner,
      image: images[0],
      sidecarImage: images[1],
    });
    try {
      return await run({ directory: stateDir, runner });
    } finally {
      await runner.close();
      await owner.release();
    }
  };
  try {
    await server.kubectl(["create", "namespace", NAME]);
    await server.kubectl(["-n", NAME, "create", "-f", "-"], JSON.stringify(POLICY));
    for (const namespace of [NAME, "default"])
      await server.kubectl(["-n", namespace, "wait", "--for=create", "sa/default", "--timeout=100s"]);
    // One runner after another, since the Pods of each would share the node with those of others.
    const direct = { kubeconfig: server.kubeconfig };
    const turns = await withRunner({ ...direct, ahead: 1 }, (place) => measureTurns(server, place, rounds));
    const eights = await withRunner(direct, (place) => measureEight(server, place, rounds));
    const cuts = await withRunner({ kubeconfig }, (place) => measureCut(place, proxy, rounds));
    const all = [turns, eights, cuts];
    return { rows: all.flatMap(({ rows }) => rows), over: all.flatMap(({ over }) => over) };
  } finally {
    proxy.close();
    await server[Symbol.asyncDispose]();
    await rm(stateDir, { recursive: true, force: true });
    execFileSync("docker", ["rmi", ...images]);
  }
}

/** Measures turns of one session after another. */
async function measureTurns(server, place, rounds) {
  const { directory, runner } = place;
  const held = await takeFirst(place);
  const cases = {
    [KUBECTL]: () => runKubectl(server),
    "first turn": () => timeFirst(() => takeFirst(place)),
    "first turn from a ready Pod": async () => {
      runner.ahead.prepare();
      while (runner.ahead.count().sessions === 0) await sleep(100);
      return timeFirst(async () => takeFirst(place, await runner.ahead.take()));
    },
    "follow-up turn": () => takeTurn(held, directory),
  };
  const rows = toRows(await interleave(cases, rounds, 1), (title) => (title.includes("turn") ? KUBECTL : undefined));
  const printing = await measurePrinting({
    start: (argv) => start(held, directory, argv),
    readSidecar: () => readSidecar(server, held.id),
  });
  const bytes = await measureBytes(held, rounds);
  return { rows: [...rows, ...printing.rows, ...bytes], over: [...findOver(rows, LIMITS), ...printing.over] };
}

/** Measures sessions that begin at once, on a node without other Pods. */
async function measureEight(server, place, rounds) {
  const rested = async (run) => {
    // The node still removes the Pods of the case before.
    await sleep(REST_MS);
    return run();
  };
  const cases = {
    [EIGHT_KUBECTL]: () => rested(() => timeFirst(() => eight(() => runKubectl(server)))),
    [EIGHT]: () => rested(() => timeFirst(() => eight(() => takeFirst(place)))),
  };
  const rows = toRows(await interleave(cases, rounds, 1), (title) => (title === EIGHT ? EIGHT_KUBECTL : undefined));
  return { rows, over: findOver(rows, LIMITS) };
}

const eight = (run) => Promise.all(Array.from({ length: 8 }, run));

/** Times first turns, and removes their sessions afterwards. */
async function timeFirst(run) {
  const began = performance.now();
  const sessions = [await run()].flat();
  const time = performance.now() - began;
  await Promise.all(sessions.map((session) => session.remove?.()));
  return [time];
}

let count = 0;

function runKubectl(server) {
  const name = `bench-${count++}`;
  return server.kubectl(["run", name, "--rm", "-i", "--restart=Never", `--image=${IMAGE}:${NAME}`, "--", "true"]);
}

async function takeFirst({ directory, runner }, id) {
  const session = await openFilled(runner, id);
  await takeTurn(session, directory);
  return session;
}

async function takeTurn(session, directory) {
  const child = await start(session, directory, ["true"]);
  for (const stream of [child.stdout, child.stderr]) stream.resume();
  await child.exit;
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
