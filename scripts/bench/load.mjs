// Measures what another session's turn takes beside one whose agent is a fork bomb of busy processes, under the default limits.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AGENT, PROMPT, withPlace } from "./lib/bench-place.mjs";
import { startHttpBudgie } from "./lib/http-budgie.mjs";
import { median } from "./lib/interleave.mjs";
import { toFigure, toRows } from "./lib/table.mjs";

const MAX_RATIO = 3;
const TURNS = 3;
/** The processes by which the machine has more while a bomb is felt */
const FELT = 200;
const BOMB = "b() { b & b & while :; do :; done; }; b";

export const measureLoad = (rounds) =>
  withPlace(async (place) => {
    await mkdir(join(place.directory, "small"));
    await writeFile(join(place.directory, "small", "bomb.sh"), BOMB);
    const attacks = { name: "attacker", description: "sub-agent: Is hostile.", tools: ["*"], allowedTools: ["*"] };
    await writeFile(join(place.host.agentsDir, "attacker.json"), JSON.stringify(attacks));
    const config = join(place.host.home, "budgie.json");
    await writeFile(config, "{}");
    const budgie = await startHttpBudgie(place, config);
    place.atEnd(() => budgie.close());
    const [victim, attacker] = [await budgie.connect(), await budgie.connect()];
    const { sessionId } = await victim.ask(AGENT, { prompt: PROMPT });
    const [quiet, beside, running] = [[], [], []];
    for (let round = 0; round < rounds; round += 1) {
      quiet.push(await timeTurns(victim, sessionId));
      const before = await countProcesses();
      const attack = new AbortController();
      const attacking = attacker.ask("attacker", { prompt: "[[run: sh bomb.sh]]" }, attack.signal).catch(() => {});
      await waitFor((count) => count >= before + FELT);
      beside.push(await timeTurns(victim, sessionId));
      running.push((await countProcesses()) - before);
      attack.abort();
      await attacking;
      await waitFor((count) => count < before + FELT);
      process.stderr.write(`round ${round + 1}: ${quiet.at(-1)}, ${beside.at(-1)} ms, ${running.at(-1)} processes\n`);
    }
    return toResult({ quiet, beside, running });
  });

async function timeTurns(victim, sessionId) {
  const times = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    const began = performance.now();
    await victim.ask(AGENT, { prompt: PROMPT, sessionId });
    times.push(performance.now() - began);
  }
  return median(times);
}

/** Resolves to the number of processes when it fits, and throws after 12 s, since a bomb that nobody feels proves nothing. */
async function waitFor(fits) {
  for (let tries = 0; tries < 60; tries += 1) {
    const count = await countProcesses();
    if (fits(count)) return count;
    await sleep(200);
  }
  throw new Error(`After 12 s ${await countProcesses()} processes exist.`);
}

async function countProcesses() {
  const [, , , entities] = (await readFile("/proc/loadavg", "utf8")).split(" ");
  return Number(entities.split("/")[1]);
}

function toResult({ quiet, beside, running }) {
  const times = new Map([
    ["quiet: turn", quiet],
    ["beside a fork bomb: turn", beside],
  ]);
  const rows = toRows(times, () => "quiet: turn");
  const ratio = rows[1].ratio.median;
  return {
    rows: [...rows, toFigure("its processes", median(running), "processes")],
    over: ratio > MAX_RATIO ? [`beside a fork bomb, turns take ${ratio} x those of quiet`] : [],
  };
}
