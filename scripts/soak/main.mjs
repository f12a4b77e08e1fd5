// node scripts/soak/main.mjs [TURNS] [SEED]: see scripts/soak/run.
import { createRandom } from "./lib/random.mjs";
import { report } from "./lib/report.mjs";
import { createSoakPlace } from "./lib/soak-place.mjs";
import { createSoakUser } from "./lib/soak-user.mjs";

const TURNS = 2000;
const USERS = 4;
const KILLS = 10;
const SAMPLE_EVERY = 50;

const [turns = TURNS, seed = Date.now() % 2 ** 31] = process.argv.slice(2).map(Number);
if (!(turns >= 2 * KILLS) || !Number.isInteger(seed)) {
  console.error(
    `Expected a number of turns, at least ${2 * KILLS}, and a seed, got "${process.argv.slice(2).join(" ")}".`,
  );
  process.exit(2);
}
const random = createRandom(seed);
const place = await createSoakPlace();
const began = performance.now();
// Concurrent users share the remaining turns.
const progress = { left: turns, done: 0, killsLeft: KILLS, ends: new Map() };

async function work(user) {
  while (progress.left > 0) {
    progress.left--;
    const end = await user.takeTurn();
    progress.ends.set(end, (progress.ends.get(end) ?? 0) + 1);
    progress.done++;
    if (progress.done % SAMPLE_EVERY === 0) await place.sample(progress.done);
    // All kills are in the first half, so that the last budgie runs through the second.
    if (progress.killsLeft > 0 && progress.done >= ((KILLS - progress.killsLeft + 1) * turns) / (2 * KILLS)) {
      progress.killsLeft--;
      await place.kill();
    }
  }
}

try {
  await Promise.all(Array.from({ length: USERS }, () => work(createSoakUser(place, random))));
  const left = await place.end();
  const seconds = Math.round((performance.now() - began) / 1000);
  process.exitCode = report({ turns, seed, seconds, kills: KILLS, ends: progress.ends, ...left }) ? 0 : 1;
} finally {
  await place.clear();
}
