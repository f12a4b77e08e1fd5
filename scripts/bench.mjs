// Measures turns through the real MCP server, as a client waits for them: node scripts/bench.mjs [ROUNDS]
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { createHostHome } from "../packages/testkit/dist/host-home.js";
import { openEngine } from "./lib/engine.mjs";

const IMAGE = "budgie-demo:latest";
const AGENT = "code-reviewer";
const PROMPT = "Review this. [[say: Looks fine.]]";
const FIRST_TURN_LIMIT = 1.2;
const IDLE_LIMIT_MB = 100;
const WARM_UP_ROUNDS = 2;
const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));

const rounds = Number(process.argv[2] ?? 20);
const { endpoint, name, version } = await openEngine();
const host = await createHostHome();
const directory = await mkdtemp(join(tmpdir(), "budgie-bench-"));
const sandboxed = await startServer(["--sandbox", "--sandbox-image", IMAGE]);
const local = await startServer(["--kiro-binary", path("../packages/testkit/bin/kiro-cli")]);
try {
  await measure();
} finally {
  await Promise.all([sandboxed.client.close(), local.client.close()]);
  await host[Symbol.asyncDispose]();
  await rm(directory, { recursive: true, force: true });
}

async function measure() {
  const idle = { sandboxed: await residentMegabytes(sandboxed), local: await residentMegabytes(local) };
  const cases = {
    "docker run --rm": { run: dockerRun, times: [] },
    "sandbox, first turn": { run: () => turn(sandboxed), times: [] },
    "sandbox, follow-up turn": { run: () => turn(sandboxed, sandboxed.sessionId), times: [] },
    "local, first turn": { run: () => turn(local), times: [] },
    "local, follow-up turn": { run: () => turn(local, local.sessionId), times: [] },
  };
  for (let round = -WARM_UP_ROUNDS; round < rounds; round++) {
    for (const { run, times } of Object.values(cases)) {
      const began = performance.now();
      await run();
      if (round >= 0) times.push(performance.now() - began);
    }
  }
  report(cases, idle);
}

function report(cases, idle) {
  const base = percentile(cases["docker run --rm"].times, 0.5);
  const lines = Object.entries(cases).map(([title, { times }]) => {
    const [median, p95] = [percentile(times, 0.5), percentile(times, 0.95)];
    return `| ${title} | ${median.toFixed(0)} | ${p95.toFixed(0)} | ${(median / base).toFixed(2)} |`;
  });
  const ratio = percentile(cases["sandbox, first turn"].times, 0.5) / base;
  console.log(`\n${rounds} rounds, interleaved; ${name} ${version}, Node ${process.versions.node}\n`);
  console.log(["| turn | median ms | p95 ms | x docker run |", "|---|---|---|---|", ...lines].join("\n"));
  console.log(`\nIdle server: ${idle.sandboxed} MB resident with --sandbox, ${idle.local} MB without.`);
  const kept = ratio <= FIRST_TURN_LIMIT && Math.max(idle.sandboxed, idle.local) <= IDLE_LIMIT_MB;
  console.log(kept ? "Within the limits." : `Over a limit: ${FIRST_TURN_LIMIT} x docker run, ${IDLE_LIMIT_MB} MB.`);
  process.exitCode = kept ? 0 : 1;
}

async function startServer(flags) {
  const { agentsDir, dataDir, home, promptsDir } = host;
  const places = ["--agents-dir", agentsDir, "--prompts-dir", promptsDir, "--kiro-data-dir", dataDir];
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [path("../packages/mcp-server/dist/main.js"), ...places, ...flags],
    env: { PATH: process.env.PATH, HOME: home, DOCKER_HOST: endpoint.url, DOCKER_CONFIG: join(homedir(), ".docker") },
    stderr: "ignore",
  });
  const client = new Client({ name: "budgie-bench", version: "1.0.0" });
  await client.connect(transport);
  await client.listTools();
  return { client, pid: transport.pid, sessionId: undefined };
}

async function turn(server, sessionId) {
  const prompt = { prompt: PROMPT, directory, ...(sessionId && { sessionId }) };
  const result = await server.client.callTool({ name: `kiro-subagents.${AGENT}`, arguments: prompt });
  if (result.isError) throw new Error(result.content[0].text);
  server.sessionId = result.structuredContent.sessionId;
}

/** The same image, agent and prompt, with the two mounts that the agent cannot do without, and nothing else. */
function dockerRun() {
  const mounts = ["-v", `${directory}:/workspace`, "-v", `${host.agentsDir}:/root/.kiro/agents:ro`];
  const run = ["run", "--rm", "-i", "-e", "KIRO_API_KEY=key", "-w", "/workspace", ...mounts, IMAGE];
  const agent = ["kiro-cli", "chat", "--agent", AGENT, "--no-interactive"];
  return new Promise((resolve, reject) => {
    const child = execFile("docker", [...run, ...agent], (error) => (error ? reject(error) : resolve()));
    child.stdin.end(`In directory /workspace, ${PROMPT}\n\nWrite your response to: /root/response.txt\n`);
  });
}

async function residentMegabytes({ pid }) {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(status)[1]) / 1024);
}

/** Nearest rank. */
function percentile(times, share) {
  return times.toSorted((a, b) => a - b)[Math.ceil(times.length * share) - 1];
}
