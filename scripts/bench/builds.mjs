// Compares turns and starts of this build with those of another checkout, BUDGIE_OTHER_CHECKOUT, in alternating pairs.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LOCAL, MAIN, SANDBOX, withPlace } from "./lib/bench-place.mjs";
import { interleave, median } from "./lib/interleave.mjs";

const MOST = 1.03;
/** In which a next turn is made ready */
const READING_MS = 1500;

export const measureBuilds = (rounds) =>
  withPlace(async ({ startServer }) => {
    const programs = [MAIN, findOther(process.env.BUDGIE_OTHER_CHECKOUT ?? "")];
    const cases = {};
    for (const [at, program] of programs.entries()) {
      const sandboxed = await startServer(SANDBOX, { program });
      const local = await startServer(LOCAL, { program });
      const turns = {
        "first turn in a sandbox": sandboxed.firstTurn,
        "follow-up turn in a sandbox": sandboxed.followUpTurn,
        "first turn without one": local.firstTurn,
        "follow-up turn without one": local.followUpTurn,
        "start, to the list of tools": () => startServer(LOCAL, { program }).then((server) => server.close()),
      };
      for (const [title, run] of Object.entries(turns))
        cases[`${title} ${at}`] = () => timeTurn(run, title.includes("in a sandbox") ? READING_MS : 0);
    }
    const times = await interleave(cases, rounds);
    const titles = [...new Set([...times.keys()].map((title) => title.slice(0, -2)))];
    const rows = titles.map((title) => toRow(title, times.get(`${title} 0`), times.get(`${title} 1`)));
    const over = rows.filter(({ ratio }) => ratio.low > MOST).map(({ title }) => `${title}: over ${MOST} x the other`);
    return { rows, over };
  });

function findOther(checkout) {
  const names = ["cli", "mcp-server"].map((name) => join(checkout, "packages", name, "bin/budgie.js"));
  const found = names.find(existsSync);
  if (found === undefined) throw new Error(`There is no built checkout at BUDGIE_OTHER_CHECKOUT, "${checkout}".`);
  return found;
}

/** Runs a turn, and then waits like a caller who reads the answer. */
async function timeTurn(run, readingMs) {
  const began = performance.now();
  await run();
  const took = performance.now() - began;
  await sleep(readingMs);
  return [took];
}

/** Returns the medians, and the median ratio of a pair with its interval of 95 %, by ranks. */
function toRow(title, own, other) {
  const ratios = own.map((time, pair) => time / other[pair]).toSorted((a, b) => a - b);
  const rank = Math.max(0, Math.floor((ratios.length - 1.96 * Math.sqrt(ratios.length)) / 2));
  const [low, high] = [ratios[rank], ratios[ratios.length - 1 - rank]].map(round);
  return {
    title,
    unit: "ms",
    median: Math.round(median(own)),
    ratio: { to: "the other build", median: round(median(ratios)), low, high },
  };
}

function round(value) {
  return Number(value.toPrecision(3));
}
