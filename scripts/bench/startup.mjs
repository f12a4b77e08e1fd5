// Compares the time from budgie's start to its first list of tools with "node -e 0". A client waits that long at each start.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createHostHome } from "../../packages/testkit/dist/host-home.js";
import { toStartMessages } from "../lib/start-messages.mjs";
import { SANDBOX, withPlace } from "./lib/bench-place.mjs";
import { interleave } from "./lib/interleave.mjs";
import { findOver, toRows } from "./lib/table.mjs";

const PROGRAM = fileURLToPath(new URL("../../packages/cli/bin/budgie.js", import.meta.url));
const BASE = "node -e 0";
const HOME_AGENTS = 3;
// The answers to `initialize` and `tools/list`.
const ANSWERS = 2;
/** Limits are multiples of the base. With --sandbox a start includes three requests to the engine */
const STARTS = [
  { count: 22, mode: "", flags: [], limit: 5 },
  { count: 500, mode: "", flags: [], limit: 8 },
  { count: 22, mode: ", --sandbox", flags: SANDBOX, limit: 5 },
  { count: 500, mode: ", --sandbox", flags: SANDBOX, limit: 8 },
];

export const measureStartup = (rounds) =>
  withPlace(async ({ engine, atEnd }) => {
    const starts = new Map();
    for (const { count, flags, limit, mode } of STARTS) {
      const host = await createHostHome();
      atEnd(() => host[Symbol.asyncDispose]());
      await addAgents(host, count - HOME_AGENTS);
      const start = { flags, env: toEnvironment(host.home, engine) };
      starts.set(`${count} agents${mode}`, { limit, start: () => listTools(start) });
    }
    const base = toEnvironment(homedir(), engine);
    const cases = { [BASE]: () => runToEnd(["-e", "0"], base) };
    for (const [title, { start }] of starts) {
      cases[title] = async () => [await start()];
    }
    const rows = toRows(await interleave(cases, rounds), () => BASE);
    const limits = Object.fromEntries([...starts].map(([title, { limit }]) => [title, limit]));
    return { rows, over: findOver(rows, limits) };
  });

/** Returns an environment like an MCP client's. A user's variables, such as extra certificates, would slow the base down too. */
function toEnvironment(home, { endpoint }) {
  const engine = { DOCKER_HOST: endpoint.url, DOCKER_CONFIG: join(homedir(), ".docker") };
  return { PATH: process.env.PATH, HOME: home, BUDGIE_ALLOW_ROOT: home, ...engine };
}

async function addAgents({ agentsDir }, count) {
  for (let number = 0; number < count; number++) {
    const name = `agent-${number}`;
    const description = `sub-agent: Looks after part ${number} of the system: its code, its tests and what is written about them. `;
    const agent = {
      name,
      description:
        description + "Ask it before you change anything there, and after that to have your change reviewed.",
      prompt: "You know this part of the system better than anybody else. ".repeat(40),
      tools: ["fs_read", "fs_write", "execute_bash"],
      allowedTools: ["fs_read", "fs_write"],
    };
    await writeFile(join(agentsDir, `${name}.json`), JSON.stringify(agent, undefined, 2));
  }
}

async function runToEnd(args, env) {
  const child = spawn(process.execPath, args, { env, stdio: "ignore" });
  await once(child, "exit");
}

/** Returns the ms until the last byte of the list. */
async function listTools({ env, flags }) {
  const began = performance.now();
  const child = spawn(process.execPath, [PROGRAM, ...flags], { env, stdio: ["pipe", "pipe", "pipe"] });
  const closed = once(child, "close");
  let errors = "";
  child.stderr.on("data", (piece) => (errors += piece));
  child.stdin.write(toStartMessages());
  const pieces = [];
  let tookMs;
  for await (const piece of child.stdout) {
    pieces.push(piece);
    if (!piece.includes("\n") || pieces.reduce(countLines, 0) < ANSWERS) continue;
    tookMs = performance.now() - began;
    child.stdin.end();
  }
  await closed;
  if (tookMs === undefined) throw new Error(`budgie listed no tools: ${errors}`);
  return tookMs;
}

function countLines(count, piece) {
  return count + piece.toString("latin1").split("\n").length - 1;
}
