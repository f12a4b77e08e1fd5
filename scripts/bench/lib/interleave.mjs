const WARM_UP_ROUNDS = 2;

/**
 * Runs every case once a round and gives each one's times in ms, sorted: how long it took, or the times that it gives itself.
 * Every other round goes backwards, so that no case always comes after the same one.
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

/** Nearest rank, of sorted times. */
export function percentile(times, share) {
  return times[Math.ceil(times.length * share) - 1];
}
