const WARM_UP_ROUNDS = 2;

/**
 * Runs every case once per round, and returns each one's times in ms, in the order of rounds: its duration, or the times that it
 * returns itself. Every other round is reversed, so that no case always follows the same one.
 */
export async function interleave(cases, rounds, warmUpRounds = WARM_UP_ROUNDS) {
  const times = new Map(Object.keys(cases).map((title) => [title, []]));
  for (let round = -warmUpRounds; round < rounds; round++) {
    const order = Object.entries(cases);
    for (const [title, run] of round % 2 === 0 ? order : order.toReversed()) {
      const began = performance.now();
      const own = await run();
      const took = performance.now() - began;
      if (round >= 0) times.get(title).push(...(Array.isArray(own) ? own : [took]));
    }
    process.stderr.write(`round ${round + 1} of ${rounds}\r`);
  }
  process.stderr.write(" ".repeat(24) + "\r");
  return times;
}

export function median(times) {
  return percentile(times, 0.5);
}

/** Returns a percentile by nearest rank. */
export function percentile(times, share) {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * share) - 1];
}
