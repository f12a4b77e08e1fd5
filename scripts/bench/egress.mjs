// Compares a sandbox's egress through the proxy with the engine's plain network, by the same client and server on this machine;
// and follow-up turns, which join an existing network, with a plain "docker run --rm".
import { homedir } from "node:os";
import { join } from "node:path";
import { createOwner, createSessionId } from "../../packages/core/dist/index.js";
import { createDockerRunner, createKiroLogin } from "../../packages/runner-docker/dist/index.js";
import { IMAGE, SANDBOX, withPlace } from "./lib/bench-place.mjs";
import { dockerRun } from "./sides/docker-run.mjs";
import { startFetchingTurn } from "./lib/fetching-turn.mjs";
import { interleave, median } from "./lib/interleave.mjs";
import { startTlsServer } from "./lib/start-tls-server.mjs";
import { findOver, toRows } from "./lib/table.mjs";

const ADDED_MS_LIMIT = 3;
const THROUGHPUT_LIMIT = 0.8;
// Without a bound, client, server, forwarder and proxy compete for the processors.
const UNBOUND_THROUGHPUT_LIMIT = 0.4;
const TURN_LIMIT = 0.55;
// Requests of each side in each round.
const REQUESTS = 20;
const REQUEST = { bytes: 200 };
const DOWNLOAD = { bytes: 200e6 };
// A server limited to 1 Gbit/s; without it, only the CPUs limit.
const LINE = { ...DOWNLOAD, bytesPerS: 125e6 };

const HOST = "bench.test";
const DIRECT = "plain network";
const PROXIED = "sandbox's proxy";
const BASE = "docker run --rm";
const FOLLOW_UP = "sandbox, follow-up turn";

export const measureEgress = (rounds) =>
  withPlace(async (place) => {
    const fetched = await measureRequests(place, rounds);
    const sandboxed = await place.startServer(SANDBOX);
    await sandboxed.firstTurn();
    const turns = { [BASE]: () => dockerRun(place), [FOLLOW_UP]: sandboxed.followUpTurn };
    return toResult({ ...fetched, turns: await interleave(turns, rounds) });
  });

async function measureRequests(place, rounds) {
  const sides = await openSides(place);
  const measure = (count, page) => {
    const cases = Object.entries(sides).map(([title, side]) => [title, () => side.fetch(count, page)]);
    return interleave(Object.fromEntries(cases), rounds);
  };
  const requests = await measure(REQUESTS, REQUEST);
  const downloads = await measure(1, LINE);
  const unbound = await measure(1, DOWNLOAD);
  await checkSides(sides);
  return { requests, downloads, unbound };
}

async function openSides({ atEnd, directory, engine, host }) {
  const server = await startTlsServer(await findGateway(engine), HOST);
  atEnd(() => server.close());
  const stateDir = join(host.home, ".kiro", "bench");
  const owner = createOwner({ stateDir });
  atEnd(() => owner.release());
  const login = createKiroLogin({ dataDir: host.dataDir });
  const rest = { image: IMAGE, login, home: homedir(), hostEnv: process.env };
  const runner = await createDockerRunner({ ...rest, owner, stateDir });
  atEnd(() => runner.close());
  const open = async (egress, proxied) => {
    const session = await runner.openSession(createSessionId());
    return startFetchingTurn({ session, directory, egress, server: { ...server, proxied } });
  };
  const { port, to: address } = server;
  const hosts = [{ host: HOST, port, address, from: "the bench" }];
  return {
    [DIRECT]: await open({ mode: "bridge", hosts: [] }, false),
    [PROXIED]: await open({ mode: "allowlist", hosts }, true),
  };
}

/** Returns this machine's address on the engine's plain network. */
async function findGateway({ docker }) {
  const { IPAM } = await docker.getNetwork("bridge").inspect();
  const [{ Gateway, Subnet } = {}] = IPAM.Config ?? [];
  // Docker 20.10 takes the network's first address, and does not name it before its second start.
  const gateway = Gateway ?? Subnet?.replace(/\b0\/\d+$/, "1");
  if (gateway === undefined)
    throw new Error("This benchmark needs an engine with a bridge network that this machine is on.");
  return gateway;
}

/** Throws unless the plain side bypassed the proxy and the other one used it. */
async function checkSides(sides) {
  const [direct, proxied] = await Promise.all([sides[DIRECT].stop(), sides[PROXIED].stop()]);
  const reached = proxied?.allowed.map(({ host }) => host);
  if (direct === undefined && String(reached) === HOST && proxied.denied.length === 0) return;
  throw new Error(`The two sides are not as expected: ${JSON.stringify({ direct, proxied })}`);
}

function toResult({ downloads, requests, turns, unbound }) {
  const titled = (times, what) => new Map([...times].map(([side, own]) => [`${what}, ${side}`, own]));
  const toSideRows = (times, what) => toRows(titled(times, what), () => `${what}, ${DIRECT}`);
  const rows = [
    ...toSideRows(requests, "a TLS request"),
    ...toSideRows(downloads, "200 MB of a 1 Gbit/s server"),
    ...toSideRows(unbound, "200 MB of an unlimited server"),
    ...toRows(turns, () => BASE),
  ];
  const addedMs = median(requests.get(PROXIED)) - median(requests.get(DIRECT));
  const limits = {
    [`200 MB of a 1 Gbit/s server, ${PROXIED}`]: 1 / THROUGHPUT_LIMIT,
    [`200 MB of an unlimited server, ${PROXIED}`]: 1 / UNBOUND_THROUGHPUT_LIMIT,
    [FOLLOW_UP]: TURN_LIMIT,
  };
  const slow = addedMs < ADDED_MS_LIMIT ? [] : [`${addedMs.toFixed(2)} ms are added to a request`];
  return { rows, over: [...slow, ...findOver(rows, limits)] };
}
