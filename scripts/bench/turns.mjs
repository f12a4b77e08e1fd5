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
    const sandboxed = await createSandboxed(place);
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
      ...sandboxed,
      "local, first turn": local.firstTurn,
      "local, follow-up turn": local.followUpTurn,
    };
    return compare(place, cases, rounds);
  });

/** Measures what has a limit alone. */
export const measureLimits = (rounds) =>
  withPlace(async (place) =>
    compare(place, { [BASE]: () => dockerRun(place), ...(await createSandboxed(place)) }, rounds),
  );

async function createSandboxed(place) {
  const { firstTurn, followUpTurn } = await place.startServer(SANDBOX);
  return { "sandbox, first turn": firstTurn, "sandbox, follow-up turn": followUpTurn };
}

async function compare(place, cases, rounds) {
  const read = Object.entries(cases).map(([title, run]) => [title, () => afterReading(place, run)]);
  const rows = toRows(await interleave(Object.fromEntries(read), rounds), () => BASE);
  return { rows, over: findOver(rows, LIMITS) };
}

/**
 * Times a case after its caller has read an answer. Another container runs just before, since a virtual machine that has rested starts any
 * program more slowly.
 */
async function afterReading(place, run) {
  await sleep(READING_MS);
  await dockerRun(place);
  const began = performance.now();
  await run();
  return [performance.now() - began];
}
