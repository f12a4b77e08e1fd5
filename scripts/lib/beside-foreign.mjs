// node beside-foreign.mjs COMMAND ARGUMENT...: runs a command beside another budgie, as on a developer's own machine. That one has a
// kept session, a live one, and a turn every 30 s, and sweeps the engine every 4 s. Fails if the command fails, or if anything
// of the other budgie was touched.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { createHostHome } from "../../packages/testkit/dist/host-home.js";
import { BUDGIE, startBudgie, toEnvironment } from "./budgie-client.mjs";
import { listTraces, openEngine } from "./engine.mjs";

const SWEEP_EVERY = "4s";
// Each turn takes a second of a processor from the tests.
const TURN_EVERY_MS = 30_000;
const ARGS = ["--keep-sessions", "--ahead", "0", "--sweep-every", SWEEP_EVERY];
const AGENT = "code-reviewer";

const [program, ...args] = process.argv.slice(2);
const { docker, endpoint } = await openEngine();
const host = await createHostHome();
const directory = await mkdtemp(join(tmpdir(), "budgie-foreign-"));
const start = () => startBudgie(host, endpoint, ARGS);
const sessions = [];
const ended = new AbortController();
let budgie = await start();
try {
  await remember(budgie, "token-heron");
  await budgie.quit();
  budgie = await start();
  await remember(budgie, "token-plover");
  const volumes = await listOwn();
  for (const id of sessions) assert.ok(volumes.includes(`budgie-session-${id}`), `the session ${id} has no volume`);
  const working = work(budgie);

  process.exitCode = await run();

  ended.abort();
  const turns = await working;
  assert.deepEqual(await listOwn(), volumes);
  // The session of the earlier one is taken over only now.
  const told = await Promise.all(
    sessions.map(async (sessionId) => (await ask(budgie, "[[recall]]", sessionId)).response),
  );
  assert.deepEqual(told, ["token-heron", "token-plover"]);
  console.log(`Another budgie on the engine kept its sessions, and answered ${turns} turns meanwhile.`);
} finally {
  await budgie.quit();
  const env = toEnvironment(host, endpoint);
  if (sessions.length > 0)
    await promisify(execFile)(process.execPath, [BUDGIE, "sessions", "rm", ...sessions], { env });
  await host[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
}

/** Begins a session that knows a word. */
async function remember(budgie, word) {
  sessions.push((await ask(budgie, `Keep the word ${word}.`)).sessionId);
}

function ask(budgie, prompt, sessionId) {
  return budgie.ask(AGENT, { directory, prompt, ...(sessionId === undefined ? {} : { sessionId }) });
}

/** Takes turns in the live session until the command has ended, and resolves to their number. */
async function work(budgie) {
  for (let turns = 0; ; turns++) {
    if (ended.signal.aborted) return turns;
    const { response } = await ask(budgie, "[[say: Here.]]", sessions[1]);
    assert.equal(response, "Here.");
    await sleep(TURN_EVERY_MS, undefined, { signal: ended.signal }).catch(() => undefined);
  }
}

function run() {
  const child = spawn(program, args, { stdio: "inherit" });
  // The other budgie is ended after the command, however that ends.
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve(code ?? 1));
  });
}

/** Lists the volumes of the other budgie's sessions. */
async function listOwn() {
  const traces = await listTraces(docker);
  return traces
    .filter(({ kind, lock }) => kind === "volume" && lock?.startsWith(host.home))
    .map(({ name }) => name)
    .toSorted((a, b) => a.localeCompare(b));
}
