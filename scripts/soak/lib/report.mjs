// Memory growth over this factor, compared with the process after its first hundred turns, is a leak.
const GROWTH_LIMIT = 1.25;

/** Prints the report of a soak test, and tells whether nothing was left, nothing was lost, and memory was flat. */
export function report({ ends, engine, kills, leftFiles, leftOnEngine, lives, runs, samples, seconds, seed, turns }) {
  const last = samples.filter(({ life }) => life === lives).map(({ residentMb }) => residentMb);
  const [early, late] = [last.slice(2, 6), last.slice(-4)].map(median);
  const running = runs.filter(({ outcome }) => outcome === "running").length;
  const strange = [...ends.keys()].filter((end) => /^(?:answered with|refused)/.test(end));
  const bugs = runs.filter(({ outcome }) => outcome === "BUG").map(({ error }) => `bug: ${error}`);
  const rows = [
    [
      "turns",
      `${turns} in ${seconds} s on ${engine.name} ${engine.version}, Node ${process.versions.node}, seed ${seed}`,
    ],
    ["outcomes seen by clients", toText(ends)],
    ["outcomes in the run log", toText(countOutcomes(runs))],
    ["budgie killed", `${kills} times; ${lives} processes in all`],
    ["turns without an outcome in the log", running],
    ["left on the engine", leftOnEngine.length],
    ["left in the state directory", leftFiles.length],
    [
      "memory of the last process",
      `${early.toFixed(0)} MB early, ${late.toFixed(0)} MB at its end, ${Math.max(...last).toFixed(0)} MB at most`,
    ],
  ];
  console.log(["", "| | |", "|---|---|", ...rows.map((cells) => `| ${cells.join(" | ")} |`)].join("\n"));
  for (const left of [...leftOnEngine, ...leftFiles].slice(0, 20)) console.log(`left: ${left}`);
  for (const what of [...bugs, ...strange]) console.log(what);
  const isFlat = late <= early * GROWTH_LIMIT;
  const isGood = leftOnEngine.length + leftFiles.length + running + strange.length + bugs.length === 0 && isFlat;
  console.log(isGood ? "\nNothing left, nothing lost, memory flat." : "\nFAILED.");
  return isGood;
}

function countOutcomes(runs) {
  const counts = new Map();
  for (const { outcome } of runs) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  return counts;
}

function toText(counts) {
  return [...counts].map(([what, count]) => `${what} ${count}`).join(", ");
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}
