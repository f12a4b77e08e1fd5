// Measures the memory of an idle server, of a session, of a waiting turn, and while an agent prints 1 GB. The server is measured once it
// has been idle, by the kernel's resident set size; containers by the engine's count without caches.
import { setTimeout as sleep } from "node:timers/promises";
import { AGENT, LOCAL, PROMPT, READING_MS, SANDBOX, withPlace } from "./lib/bench-place.mjs";
import { median } from "./lib/interleave.mjs";
import { readContainers, readStatus } from "./lib/read-memory.mjs";
import { toFigure } from "./lib/table.mjs";

const SESSIONS = 20;
const WAITING = 100;
const IDLE_LIMIT = 60;
// V8 collects garbage and shrinks its heap some seconds after the last activity. `gc()` does not shrink the space of new objects.
const IDLE_MS = 15_000;

export const measureMemory = (rounds) =>
  withPlace(async (place) => {
    const local = await measureIdle(place, rounds, LOCAL);
    const idle = await measureIdle(place, rounds, SANDBOX);
    const rows = [
      toFigure("idle server", local, "MB"),
      toFigure("idle server, --sandbox", idle, "MB"),
      ...(await measureSessions(place)),
      toFigure("a waiting turn, in budgie", await measureWaiting(place), "MB"),
      toFigure("the most while an agent prints 1 GB", await measureFlood(place), "MB"),
    ];
    return { rows, over: idle <= IDLE_LIMIT ? [] : [`the idle server: ${idle} MB, and ${IDLE_LIMIT} is the limit`] };
  });

async function measureIdle(place, rounds, flags) {
  const figures = [];
  for (let round = 0; round < rounds; round++) {
    const server = await place.startServer(flags);
    figures.push(await settle(server));
    await server.close();
  }
  return median(figures);
}

/** Returns the megabytes of a server that has been idle. */
async function settle({ pid }) {
  await sleep(IDLE_MS);
  return (await readStatus(pid)).VmRSS;
}

async function measureSessions(place) {
  const server = await place.startServer(SANDBOX);
  // The first turns load modules.
  for (let turn = 0; turn < 5; turn++) await server.newSession();
  const [before, own] = [await settle(server), await readContainers(place)];
  let last;
  for (let session = 0; session < SESSIONS; session++) last = await server.newSession();
  const after = await settle(server);
  await server.followUp(last);
  // The container for a next turn is made after the previous turn.
  await sleep(READING_MS);
  const all = await readContainers(place);
  const added = all.filter(({ id }) => !own.some((other) => other.id === id));
  const byRole = groupByRole(added);
  await server.close();
  return [
    toFigure("an idle session, in budgie", (after - before) / SESSIONS, "MB"),
    ...[...byRole].map(([role, used]) =>
      toFigure(`${TITLES[role] ?? role}, in its container`, median(used.map(({ megabytes }) => megabytes)), "MB"),
    ),
  ];
}

const TITLES = { session: "an idle session", turn: "a turn kept ahead" };

function groupByRole(containers) {
  const groups = new Map();
  for (const container of containers) groups.set(container.role, [...(groups.get(container.role) ?? []), container]);
  return groups;
}

async function measureWaiting(place) {
  const server = await place.startServer([...LOCAL, "--max-concurrent", "1", "--max-queued", `${WAITING}`]);
  await server.newSession();
  const calls = [server.ask(AGENT, { prompt: "[[sleep 600000]]" })];
  const before = await settle(server);
  for (let call = 0; call < WAITING; call++) calls.push(server.ask(AGENT, { prompt: PROMPT }));
  const after = await settle(server);
  await server.close();
  await Promise.allSettled(calls);
  return (after - before) / WAITING;
}

async function measureFlood(place) {
  const server = await place.startServer(SANDBOX);
  await server.newSession();
  await server.ask(AGENT, { prompt: "[[fault flood 1024]]" }).catch(() => undefined);
  const { VmHWM } = await readStatus(server.pid);
  await server.close();
  return VmHWM;
}
