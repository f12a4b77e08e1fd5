// Measures the wire to a Pod while an agent prints: the time after a cut until it goes on, and the memory of both ends.
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { openCutProxy } from "./cut-proxy.mjs";
import { median } from "./interleave.mjs";
import { toFigure } from "./table.mjs";

const CUT_LIMIT_MS = 2_000;
const GROWTH_LIMIT = 128;
const PRINTED_BYTES = 1_000_000_000;
const SAMPLE_MS = 50;
const COUNT = ["sh", "-c", "i=0; while :; do echo $((i += 1)); sleep 0.01; done"];

/** Opens a proxy in front of a cluster's API server, and returns it with a kubeconfig that names it. */
export async function openClusterProxy(kubeconfig) {
  const text = await readFile(kubeconfig, "utf8");
  const { hostname: host, port } = new URL(/server: "?([^",\s}]+)/.exec(text)[1]);
  const proxy = await openCutProxy({ host, port: Number(port) });
  const path = `${kubeconfig}-cut`;
  const server = `server: "https://127.0.0.1:${proxy.port}", tls-server-name: kubernetes.default.svc`;
  await writeFile(path, text.replace(/server: "?[^",\s}]+"?/, server), { mode: 0o600 });
  return { proxy, kubeconfig: path };
}

/** Cuts all connections to the cluster under an agent that prints numbers, which have to go on where they were. */
export async function measureCuts({ proxy, start }, rounds) {
  const child = await start(COUNT);
  const times = [];
  let [rest, number, fault] = ["", 0, undefined];
  let hear = () => undefined;
  child.stdout.on("data", (piece) => {
    const lines = (rest + piece).split("\n");
    rest = lines.pop();
    for (const line of lines) if (Number(line) !== ++number) fault ??= `${line} came after ${number - 1}`;
    hear();
  });
  child.stderr.resume();
  for (let round = 0; round < rounds; round++) {
    const next = number + 20;
    await new Promise((resolve) => (hear = () => number >= next && resolve()));
    const [began, before] = [performance.now(), proxy.count()];
    proxy.cut();
    // Output that was under way before the cut comes without a new connection.
    await new Promise((resolve) => (hear = () => proxy.count() > before && resolve()));
    times.push(performance.now() - began);
  }
  await child.stop("cancelled");
  if (fault !== undefined) throw new Error(`Over ${rounds} cuts, output was lost or repeated: ${String(fault)}.`);
  const took = median(times);
  return {
    rows: [toFigure("the next output after a cut connection", took, "ms")],
    over: took <= CUT_LIMIT_MS ? [] : [`a cut connection goes on after ${took} ms, and ${CUT_LIMIT_MS} is the limit`],
  };
}

/** Measures the growth of this process and of a session's sidecar while an agent prints 1 GB. */
export async function measurePrinting({ readSidecar, start }) {
  const before = { own: process.memoryUsage().rss, sidecar: (await readSidecar()).VmRSS };
  let [most, printed] = [before.own, 0];
  const sampling = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), SAMPLE_MS);
  const began = performance.now();
  const child = await start(["head", "-c", String(PRINTED_BYTES), "/dev/zero"]);
  child.stdout.on("data", (piece) => (printed += piece.length));
  child.stderr.resume();
  await Promise.all([once(child.stdout, "end"), child.exit]);
  const seconds = (performance.now() - began) / 1_000;
  clearInterval(sampling);
  if (printed !== PRINTED_BYTES) throw new Error(`Of 1 GB, ${printed} bytes came.`);
  const growth = {
    budgie: (most - before.own) / 2 ** 20,
    "the sidecar": (await readSidecar()).VmHWM - before.sidecar,
  };
  return {
    rows: [
      toFigure("output of an agent", PRINTED_BYTES / 2 ** 20 / seconds, "MiB/s"),
      ...Object.entries(growth).map(([of, megabytes]) =>
        toFigure(`growth of ${of} while an agent prints 1 GB`, Math.max(0, megabytes), "MB"),
      ),
    ],
    over: Object.entries(growth)
      .filter(([, megabytes]) => megabytes > GROWTH_LIMIT)
      .map(
        ([of, megabytes]) => `${of} grows by ${megabytes} MB while an agent prints 1 GB: ${GROWTH_LIMIT} is the limit`,
      ),
  };
}
