// Compares sandboxed and local turns with "docker run --rm" of the same image and agent, with runc alone, and with the original design.
import { setTimeout as sleep } from "node:timers/promises";
import { LOCAL, READING_MS, SANDBOX, withPlace } from "./lib/bench-place.mjs";
import { dockerRun, hardenedRun, originalDesign } from "./sides/docker-run.mjs";
import { interleave } from "./lib/interleave.mjs";
import { createRuncTurn } from "./sides/runc-run.mjs";
import { findOver, toRows } from "./lib/table.mjs";

const BASE = "docker run --rm";
const LIMITS = { "sandbox, first turn": 1, "sandbox, follow-up turn": 0.5 };

export const measureTurns = (rounds) =>
  withPlace(async (place) => {
    const sandboxed = await place.startServer(SANDBOX);
    const local = await place.startServer(LOCAL);
    const original = originalDesign(place);
    const runcTurn = await createRuncTurn(place);
    if (runcTurn === undefined) console.log("Without root or runc, the row of runc is missing.");
    const cases = {
      ...(runcTurn && { "runc run": runcTurn }),
      [BASE]: () => dockerRun(place),
      "docker run --rm, hardened, no network": () => hardenedRun(place),
      "original design, first turn": original.firstTurn,
      "original design, follow-up turn": original.followUpTurn,
      "sandbox, first turn": () => readAnswer(sandboxed.firstTurn),
      "sandbox, follow-up turn": () => readAnswer(sandboxed.followUpTurn),
      "local, first turn": local.firstTurn,
      "local, follow-up turn": local.followUpTurn,
    };
    const rows = toRows(await interleave(cases, rounds), () => BASE);
    return { rows, over: findOver(rows, LIMITS) };
  });

/** Runs a turn, and then waits like a caller who reads the answer. */
async function readAnswer(turn) {
  const began = performance.now();
  await turn();
  const took = performance.now() - began;
  await sleep(READING_MS);
  return [took];
}
