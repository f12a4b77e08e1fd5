// Compares commands that read a run log of 100,000 turns with "budgie --version", which reads nothing.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createOwner } from "../../packages/core/dist/index.js";
import { createRunLog, loadSqlite } from "../../packages/store/dist/index.js";
import { MAIN } from "./lib/bench-place.mjs";
import { interleave } from "./lib/interleave.mjs";
import { findOver, toRows } from "./lib/table.mjs";

const RUNS = 100_000;
const BASE = "budgie --version";
/** Limits are multiples of the base */
const COMMANDS = [
  { argv: ["runs", "ls"], limit: 2 },
  { argv: ["runs", "ls", "--dir", "/home/ada/7", "--since", "12h"], limit: 2 },
  { argv: ["usage", "--since", "24h"], limit: 2.5 },
  { argv: ["usage"], limit: 3 },
  { argv: ["usage", "--by", "project", "--json"], limit: 3 },
  { argv: ["usage", "--by", "model"], limit: 3 },
  { argv: ["usage", "--by", "client"], limit: 3 },
  { argv: ["usage", "--by", "day"], limit: 3 },
];

export async function measureLog(rounds) {
  const home = await mkdtemp(join(tmpdir(), "budgie-bench-"));
  try {
    await fill(join(home, ".local/state/budgie"));
    const env = { PATH: process.env.PATH, HOME: home };
    const cases = { [BASE]: () => run(["--version"], env) };
    for (const { argv } of COMMANDS) cases[argv.join(" ")] = () => run(argv, env);
    const rows = toRows(await interleave(cases, rounds), () => BASE);
    return {
      rows,
      over: findOver(rows, Object.fromEntries(COMMANDS.map(({ argv, limit }) => [argv.join(" "), limit]))),
    };
  } finally {
    await rm(home, { recursive: true });
  }
}

/** Writes the turns of the last 30 days of 20 agents in 50 directories, each a copy of one that budgie wrote. */
async function fill(stateDir) {
  const owner = createOwner({ stateDir });
  const log = createRunLog({ stateDir, owner, report: console.error });
  const startedMs = Date.now();
  await log.finish({
    id: randomUUID(),
    agent: "agent-0",
    sessionId: randomUUID(),
    isolation: "container",
    startedMs,
    endedMs: startedMs + 1000,
    outcome: "answered",
    exit: { exitCode: 0, signal: undefined },
    promptBytes: 12,
    directory: "/home/ada/0",
    answer: "Done.",
    timedOut: false,
    retried: false,
    error: undefined,
    egress: { allowed: [{ host: "api.example.com", port: 443, count: 2 }], denied: [] },
    usage: { basis: "turn", credits: 0.07, inputTokens: 1200, cachedTokens: 300, outputTokens: 250 },
    facts: { changedExecutablePaths: [], denied: [], warnings: ["The answer is short."] },
  });
  log.close();
  const database = (await loadSqlite())(join(stateDir, "runs.sqlite3"), { readOnly: false });
  const [first] = database.all("SELECT * FROM runs");
  const own = {
    id: "printf('%08x-%d', n * 7919 % 4294967296, n)",
    number: "n + 1",
    agent: "printf('agent-%d', n % 20)",
    directory: "printf('/home/ada/%d', n % 50)",
    session: "printf('%08x', n / 10)",
    started: `started - ${RUNS - 1} * 25920 + n * 25920`,
    ended: `ended - ${RUNS - 1} * 25920 + n * 25920`,
  };
  const columns = Object.keys(first);
  database.exec(`INSERT INTO runs (${columns.join(", ")})
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${RUNS - 1})
    SELECT ${columns.map((column) => own[column] ?? column).join(", ")} FROM numbers, (SELECT * FROM runs)`);
  database.close();
  await owner.release();
}

async function run(argv, env) {
  const child = spawn(process.execPath, [MAIN, ...argv], { env, stdio: ["ignore", "pipe", "inherit"] });
  let bytes = 0;
  child.stdout.on("data", (piece) => (bytes += piece.length));
  const [exitCode] = await once(child, "close");
  if (exitCode !== 0 || bytes === 0) throw new Error(`budgie ${argv.join(" ")} exited with ${exitCode}.`);
}
