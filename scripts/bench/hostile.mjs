// Measures what other sessions of a budgie wait while one party does its worst, below the bounds and above them: a turn, and an MCP ping.
// Each party has a budgie of its own, over HTTP, of which it also measures the memory.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { AGENT, PROMPT, withPlace } from "./lib/bench-place.mjs";
import { startHttpBudgie, TOKEN } from "./lib/http-budgie.mjs";
import { median } from "./lib/interleave.mjs";
import { NODE } from "./lib/measuring-turn.mjs";
import { readStatus } from "./lib/read-memory.mjs";
import { toFigure } from "./lib/table.mjs";
import { measureMessages } from "./sides/costly-messages.mjs";

const LIMITS = { ratio: 3, pingMs: 250, megabytes: 400 };
const PING_EVERY_MS = 50;
const LONG = { prompt: "[[sleep 600000]]" };
const PROGRAM = new URL("lib/hostile-program.cjs", import.meta.url);
const PEER = fileURLToPath(new URL("sides/hostile-peer.mjs", import.meta.url));
const FILES = 32;

/** The requests of each party's session while others are measured; its caller repeats it if it fails */
const PARTIES = {
  nobody: undefined,
  "agent in a sandbox": ({ ask }) => ask("attacker", { prompt: `[[run: ${NODE} hostile.cjs agent]]` }),
  "MCP server in a sandbox": ({ ask }) => ask("loud", LONG),
  "MCP server over HTTP": ({ ask }) => ask("far", LONG),
  "caller over HTTP": ({ ended, peer, url }) => {
    peer.attack(url);
    return ended;
  },
  "ACP program": ({ ask }) => ask("acp", { prompt: "Go." }),
  "A2A server": ({ ask }) => ask("a2a", { prompt: "Go." }),
  "workspace of package.json files": ({ ask, large }) => ask(AGENT, { prompt: PROMPT, directory: large }),
};

export const measureHostile = (rounds) =>
  withPlace(async (place) => {
    const peer = await startPeer(place);
    const config = await writeFiles(place, peer);
    const found = [];
    for (const [title, attack] of Object.entries(PARTIES)) {
      const measured = await measureParty(place, { attack, config, peer, rounds });
      process.stderr.write(`${title}: ${JSON.stringify(measured)}\n`);
      found.push({ title, ...measured });
    }
    return toResult(found);
  });

async function measureParty(place, { attack, config, peer, rounds }) {
  const budgie = await startHttpBudgie(place, config);
  const [victim, attacker] = [await budgie.connect(), await budgie.connect()];
  const { sessionId } = await victim.ask(AGENT, { prompt: PROMPT });
  const state = { isOver: false };
  const pings = [];
  const attacking =
    attack === undefined
      ? undefined
      : repeat(() => attack({ ...attacker, ...budgie, peer, large: place.large }), state);
  if (attack !== undefined) await sleep(3000);
  const pinging = repeat(async () => {
    const began = performance.now();
    await victim.client.ping({ timeout: 600_000 });
    pings.push(performance.now() - began);
    await sleep(PING_EVERY_MS);
  }, state);
  const [sinceMs, sinceTicks] = [performance.now(), await readTicks(budgie.pid)];
  const turns = [];
  for (let turn = 0; turn < rounds; turn += 1) {
    const began = performance.now();
    await victim.ask(AGENT, { prompt: PROMPT, sessionId });
    turns.push(performance.now() - began);
  }
  state.isOver = true;
  await pinging;
  const { VmHWM: megabytes } = await readStatus(budgie.pid);
  // An attack that budgie does not feel would prove nothing.
  const busy = ((await readTicks(budgie.pid)) - sinceTicks) / ((performance.now() - sinceMs) / 10);
  await budgie.close();
  await attacking;
  return { turnMs: median(turns), pingMs: Math.max(...pings), megabytes, busy };
}

/** Returns the processor time of a process, in hundredths of a second. */
async function readTicks(pid) {
  const [, fields] = (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ");
  const [user, system] = fields.split(" ").slice(11, 13).map(Number);
  return user + system;
}

async function repeat(work, state) {
  while (!state.isOver) {
    await work().catch(async (error) => {
      if (!state.isOver && process.env.DEBUG) console.error(error.message);
      await sleep(10);
    });
  }
}

async function startPeer({ atEnd }) {
  const child = spawn(process.execPath, [PEER], { stdio: ["pipe", "pipe", "inherit"] });
  atEnd(() => child.kill());
  const [port] = await once(createInterface({ input: child.stdout }), "line");
  return {
    at: (path) => `http://127.0.0.1:${port}/${path}`,
    attack: (url) => child.stdin.write(`${JSON.stringify({ url, authorization: `Bearer ${TOKEN}` })}\n`),
  };
}

/** Writes the agents, the program of those in a sandbox, and a workspace of large files. Returns the path of the configuration. */
async function writeFiles(place, peer) {
  const { directory, host } = place;
  const program = await readFile(PROGRAM, "utf8");
  await mkdir(join(directory, "small"));
  await writeFile(join(directory, "small", "hostile.cjs"), program);
  const loud = { command: NODE, args: ["-e", program, "server"] };
  const far = { url: peer.at("mcp") };
  const agents = { attacker: { loud }, loud: { loud }, far: { far } };
  const tools = { tools: ["*"], allowedTools: ["*", "@*"] };
  for (const [name, mcpServers] of Object.entries(agents)) {
    const agent = { name, description: "sub-agent: Is hostile.", ...tools, mcpServers };
    await writeFile(join(host.agentsDir, `${name}.json`), JSON.stringify(agent));
  }
  place.large = join(directory, "large");
  for (let file = 0; file < FILES; file += 1) {
    const folder = join(place.large, `${file}`);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "package.json"), `{"scripts":{},"x":[${"{},".repeat(349_000)}{}]}`);
  }
  const config = join(host.home, "budgie.json");
  const sections = {
    ...Object.fromEntries(Object.entries(agents).map(([name, servers]) => [name, { mcp: toAllowed(servers) }])),
    acp: { protocol: "acp", description: "Is hostile.", command: NODE, args: ["-e", program, "acp"] },
    a2a: { protocol: "a2a", description: "Is hostile.", url: peer.at("a2a"), allowRemote: true },
  };
  await writeFile(config, JSON.stringify({ agents: sections }));
  return config;
}

function toAllowed(servers) {
  return Object.fromEntries(Object.keys(servers).map((name) => [name, {}]));
}

function toResult([quiet, ...found]) {
  const rows = [quiet, ...found].flatMap(({ megabytes, pingMs, title, turnMs }) => [
    {
      ...toFigure(`${title}: turn`, turnMs, "ms"),
      ratio: { to: "nobody", median: Number((turnMs / quiet.turnMs).toPrecision(3)) },
    },
    toFigure(`${title}: ping`, pingMs, "ms"),
    toFigure(`${title}: memory`, megabytes, "MB"),
  ]);
  const over = found.flatMap(({ megabytes, pingMs, title, turnMs }) => [
    ...(turnMs > LIMITS.ratio * quiet.turnMs
      ? [`${title}: turns take ${turnMs / quiet.turnMs} x those of nobody`]
      : []),
    ...(pingMs > LIMITS.pingMs ? [`${title}: a ping takes ${pingMs} ms`] : []),
    ...(megabytes > LIMITS.megabytes ? [`${title}: ${megabytes} MB`] : []),
  ]);
  return { rows: [...rows, ...measureMessages()], over };
}
