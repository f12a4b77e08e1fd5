const WARM_UP_ROUNDS = 2;

/**
 * Runs every case once per round, and returns each one's sorted times in ms: its duration, or the times that it returns itself.
 * Every other round is reversed, so that no case always follows the same one.
 */
export async function interleave(cases, rounds) {
  const times = new Map(Object.keys(cases).map((title) => [title, []]));
  for (let round = -WARM_UP_ROUNDS; round < rounds; round++) {
    const order = Object.entries(cases);
    for (const [title, run] of round % 2 === 0 ? order : order.toReversed()) {
      const began = performance.now();
      const own = await run();
      const took = performance.now() - began;
      if (round >= 0) times.get(title).push(...(Array.isArray(own) ? own : [took]));
    }
  }
  return new Map([...times].map(([title, all]) => [title, all.toSorted((a, b) => a - b)]));
}

export function median(times) {
  return percentile(times, 0.5);
}

/** Returns a percentile of sorted times by nearest rank. */
export function percentile(times, share) {
  return times[Math.ceil(times.length * share) - 1];
}
