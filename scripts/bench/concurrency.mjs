// Compares one turn with several at once by the time per turn; less means more throughput. Two sides are floors: one hardened container for
// each turn, without a session, and the agent without a container.
import { setTimeout as sleep } from "node:timers/promises";
import { LOCAL, READING_MS, SANDBOX, withPlace } from "./lib/bench-place.mjs";
import { dockerRun, hardenedRun } from "./sides/docker-run.mjs";
import { interleave } from "./lib/interleave.mjs";
import { toRows } from "./lib/table.mjs";

const COUNTS = [1, 2, 4, 8, 16];
const SIDES = ["docker run --rm", "hardened, no network", "first turns", "follow-up turns", "local"];

export const measureConcurrency = (rounds) =>
  withPlace(async (place) => {
    const most = Math.max(...COUNTS);
    const [server, local] = await Promise.all(
      [SANDBOX, LOCAL].map((flags) => place.startServer([...flags, "--max-concurrent", `${most}`])),
    );
    const [docker, hardened, first, followUp, localFollowUp] = SIDES;
    const turns = {
      [docker]: () => dockerRun(place),
      [hardened]: () => hardenedRun(place),
      [first]: server.newSession,
      [followUp]: await toFollowUps(server, most),
      [localFollowUp]: await toFollowUps(local, most),
    };
    const toRun = (side, count) => (side === followUp ? afterOthers : atOnce)(turns[side], count);
    const cases = COUNTS.flatMap((count) => SIDES.map((side) => [toTitle(side, count), toRun(side, count)]));
    const times = await interleave(Object.fromEntries(cases), rounds, 1);
    return { rows: toRows(times, (title) => title.replace(/^.*(?=, )/, docker)), over: [] };
  });

/** Begins sessions, and returns a function that runs another turn of one. */
async function toFollowUps({ followUp, newSession }, count) {
  const sessions = [];
  for (let number = 0; number < count; number++) sessions.push(await newSession());
  return (number) => followUp(sessions[number]);
}

function toTitle(side, count) {
  return `${side}, ${count} at once`;
}

/** Returns a function that runs turns at once, right after others of the same sessions, since other cases have run in between. */
function afterOthers(turn, count) {
  const run = atOnce(turn, count);
  return async () => {
    await run();
    return run();
  };
}

/** Returns a function that runs turns at once, and resolves to the time per turn. Then it waits like a caller who reads the answers. */
function atOnce(turn, count) {
  return async () => {
    const began = performance.now();
    await Promise.all(Array.from({ length: count }, (_, number) => turn(number)));
    const took = performance.now() - began;
    await sleep(READING_MS);
    return [took / count];
  };
}
