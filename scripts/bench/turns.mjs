// Compares sandboxed and local turns with "docker run --rm" of the same image and agent, with runc alone, and with the original design.
import { setTimeout as sleep } from "node:timers/promises";
import { LOCAL, SANDBOX, withPlace } from "./lib/bench-place.mjs";
import { dockerRun, hardenedRun, originalDesign } from "./sides/docker-run.mjs";
import { interleave } from "./lib/interleave.mjs";
import { createRuncTurn } from "./sides/runc-run.mjs";
import { findOver, toRows } from "./lib/table.mjs";

const BASE = "docker run --rm";
// Time in which a caller reads an answer, and in which budgie makes ready what the next turn takes.
const READING_MS = 1500;
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
      "sandbox, first turn": sandboxed.firstTurn,
      "sandbox, follow-up turn": sandboxed.followUpTurn,
      "local, first turn": local.firstTurn,
      "local, follow-up turn": local.followUpTurn,
    };
    const rested = Object.entries(cases).map(([title, run]) => [title, () => afterReading(run)]);
    const rows = toRows(await interleave(Object.fromEntries(rested), rounds), () => BASE);
    return { rows, over: findOver(rows, LIMITS) };
  });

/** Runs a case after a rest, as all of them do: a virtual machine that has rested runs any program more slowly at first. */
async function afterReading(run) {
  await sleep(READING_MS);
  const began = performance.now();
  await run();
  return [performance.now() - began];
}
