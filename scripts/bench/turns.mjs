// Compares sandboxed and local turns with a plain "docker run --rm" of the same image and agent.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { SANDBOX, withPlace } from "./lib/bench-place.mjs";
import { dockerRun } from "./lib/docker-run.mjs";
import { interleave, median } from "./lib/interleave.mjs";
import { toCaption, toTable } from "./lib/table.mjs";

const FIRST_TURN_LIMIT = 1.2;
const IDLE_LIMIT_MB = 100;
const BASE = "docker run --rm";
const FIRST = "sandbox, first turn";
const KIRO = fileURLToPath(new URL("../../packages/testkit/bin/kiro-cli", import.meta.url));

/** Measures, prints, and tells whether a first turn and an idle server are within their limits. */
export const measureTurns = (rounds) =>
  withPlace(async (place) => {
    const sandboxed = await place.startServer(SANDBOX);
    const local = await place.startServer(["--kiro-binary", KIRO]);
    const idle = { sandboxed: await residentMegabytes(sandboxed), local: await residentMegabytes(local) };
    const cases = {
      [BASE]: () => dockerRun(place),
      [FIRST]: sandboxed.firstTurn,
      "sandbox, follow-up turn": sandboxed.followUpTurn,
      "local, first turn": local.firstTurn,
      "local, follow-up turn": local.followUpTurn,
    };
    return report({ rounds, engine: place.engine, times: await interleave(cases, rounds), idle });
  });

function report({ rounds, engine, times, idle }) {
  console.log(toCaption(rounds, engine));
  console.log(toTable(times, "x docker run", () => BASE));
  console.log(`\nIdle server: ${idle.sandboxed} MB resident with --sandbox, ${idle.local} MB without.`);
  const ratio = median(times.get(FIRST)) / median(times.get(BASE));
  const kept = ratio <= FIRST_TURN_LIMIT && Math.max(idle.sandboxed, idle.local) <= IDLE_LIMIT_MB;
  console.log(kept ? "Within the limits." : `Over a limit: ${FIRST_TURN_LIMIT} x docker run, ${IDLE_LIMIT_MB} MB.`);
  return kept;
}

async function residentMegabytes({ pid }) {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(status)[1]) / 1024);
}
