// node scripts/bench/main.mjs [CASE] [ROUNDS]: measures one case, and exits with 1 if it is over a limit. "all" measures every case, and
// writes results.json and the page and picture generated from it; "page" only regenerates those.
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { measureAcp } from "./acp.mjs";
import { measureBuilds } from "./builds.mjs";
import { measureCluster } from "./cluster.mjs";
import { measureConcurrency } from "./concurrency.mjs";
import { measureCopies } from "./copies.mjs";
import { measureEgress } from "./egress.mjs";
import { measureHardening } from "./hardening.mjs";
import { measureHostile } from "./hostile.mjs";
import { readMachine } from "./lib/machine.mjs";
import { toTable } from "./lib/table.mjs";
import { measureLoad } from "./load.mjs";
import { measureLog } from "./log.mjs";
import { measureLogin } from "./login.mjs";
import { measureMcp } from "./mcp.mjs";
import { measureMemory } from "./memory.mjs";
import { RESULTS, writePage } from "./report/write-page.mjs";
import { measureSessions } from "./sessions.mjs";
import { measureStartup } from "./startup.mjs";
import { traceTurns } from "./trace.mjs";
import { measureLimits, measureTurns } from "./turns.mjs";
import { measureWorkspace } from "./workspace.mjs";

/** The cases, and their usual rounds. */
const CASES = {
  turns: [measureTurns, 9],
  concurrency: [measureConcurrency, 3],
  startup: [measureStartup, 15],
  memory: [measureMemory, 2],
  sessions: [measureSessions, 1],
  login: [measureLogin, 4],
  workspace: [measureWorkspace, 3],
  copies: [measureCopies, 5],
  hardening: [measureHardening, 5],
  egress: [measureEgress, 12],
  acp: [measureAcp, 6],
  mcp: [measureMcp, 4],
  hostile: [measureHostile, 5],
  load: [measureLoad, 5],
  log: [measureLog, 9],
};

/** The cases that need another checkout or a node for tests, or repeat a part of another, and are no part of "all". */
const OTHERS = { limits: [measureLimits, 5], builds: [measureBuilds, 30], cluster: [measureCluster, 5] };

const args = process.argv.slice(2);
const name = [...Object.keys(CASES), ...Object.keys(OTHERS), "trace", "all", "page"].includes(args[0])
  ? args.shift()
  : "turns";
const given = args[0] === undefined ? undefined : Number(args[0]);
if (args.length > 1 || !(given === undefined || given >= 1)) {
  console.error(
    `Expected ${Object.keys({ ...CASES, ...OTHERS }).join(", ")}, trace, page or all, and a number of rounds, got "${args.join(" ")}".`,
  );
  process.exit(2);
}
if (name === "page") await writePage();
else if (name === "trace") await traceTurns();
else if (name === "all") process.exitCode = (await measureAll()) ? 0 : 1;
else process.exitCode = (await measure(name)).over.length === 0 ? 0 : 1;

/** Measures and prints a case. */
async function measure(title) {
  const [run, usual] = { ...CASES, ...OTHERS }[title];
  const rounds = given ?? usual;
  const began = performance.now();
  const result = await run(rounds);
  const seconds = Math.round((performance.now() - began) / 1000);
  console.log(`\n${title}: rounds ${rounds}, interleaved; ${seconds} s\n\n${toTable(result.rows)}\n`);
  for (const line of result.over) console.log(`Over a limit: ${line}.`);
  return { rounds, ...result };
}

/** Measures every case, even after a failure, and drops the figures of failed ones. Resolves to true if all are within their limits. */
async function measureAll() {
  const machine = await readMachine();
  const cases = {};
  let isGood = true;
  for (const title of Object.keys(CASES)) {
    try {
      const { over, rounds, rows } = await measure(title);
      cases[title] = { rounds, rows };
      isGood &&= over.length === 0;
    } catch (error) {
      console.error(`\n${title} failed: ${error instanceof Error ? error.stack : String(error)}`);
      isGood = false;
    }
  }
  await writeFile(fileURLToPath(RESULTS), `${JSON.stringify({ machine, cases }, undefined, 2)}\n`);
  await writePage();
  return isGood;
}
