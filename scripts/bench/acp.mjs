// Compares turns of an ACP agent, Codex with a local model, with the same agent in a plain "docker run --rm", and measures the memory of
// an agent that stays for its session's next turn.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createFakeLlm } from "../../packages/testkit/dist/fake-llm/fake-llm.js";
import { withPlace } from "./lib/bench-place.mjs";
import { dockerAcpTurn } from "./lib/docker-acp-turn.mjs";
import { interleave, median } from "./lib/interleave.mjs";
import { toCaption, toTable } from "./lib/table.mjs";

const IMAGE = "budgie-programs:latest";
const AGENT = "coder";
const PROMPT = "Review this. [[say: Looks fine.]]";
const BASE = "docker run --rm";
const FIRST = "sandbox, first turn";
const COLD = "sandbox, follow-up turn, --warm-idle 0";
const WARM = "sandbox, follow-up turn, warm";
const FIRST_LIMIT = 1.5;
const WARM_LIMIT = 0.5;
const SESSIONS = 4;

/** Measures, prints, and tells whether a first and a warm turn are within their limits. */
export const measureAcp = (rounds) =>
  withPlace(async (place) => {
    const llm = await createFakeLlm();
    place.atEnd(() => llm[Symbol.asyncDispose]());
    const script = toScript(llm.port);
    const flags = await toFlags(place, llm, script);
    const [cold, warm] = [await place.startServer([...flags, "--warm-idle", "0"]), await place.startServer(flags)];
    const asking = { prompt: PROMPT };
    const [coldSession, warmSession] = [await cold.ask(AGENT, asking), await warm.ask(AGENT, asking)];
    const cases = {
      [BASE]: () => dockerAcpTurn({ directory: place.directory, image: IMAGE, llm, script, prompt: PROMPT }),
      [FIRST]: () => warm.ask(AGENT, asking),
      [COLD]: () => cold.ask(AGENT, { ...asking, sessionId: coldSession.sessionId }),
      [WARM]: () => warm.ask(AGENT, { ...asking, sessionId: warmSession.sessionId }),
    };
    const times = await interleave(cases, rounds);
    return report({ rounds, engine: place.engine, times, memory: await measureMemory(place, flags) });
  });

/** The shell script that gives Codex its model, and becomes it. */
function toScript(port) {
  return `export OPENAI_API_KEY=key; mkdir -p ~/.codex
cat >~/.codex/config.toml <<END
model = "gpt-5.4-mini"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.fake]
name = "fake"
base_url = "https://llm.test:${port}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
END
exec /opt/programs/node_modules/@zed-industries/codex-acp-linux-*/bin/codex-acp`;
}

async function toFlags({ host }, { caFile, port }, script) {
  const config = join(host.home, "budgie.json");
  const coder = { protocol: "acp", description: "Codes.", command: "sh", args: ["-c", script] };
  const allowHost = [`llm.test:${port}=127.0.0.1`];
  await writeFile(config, JSON.stringify({ caFile, allowHost, agents: { [AGENT]: coder } }));
  return ["--sandbox", "--sandbox-image", IMAGE, "--config", config];
}

/** Returns the megabytes that a session with an agent that stays takes in budgie, and in its containers. */
async function measureMemory(place, flags) {
  const server = await place.startServer(flags);
  // Modules are loaded by the first turn.
  await server.ask(AGENT, { prompt: PROMPT });
  const before = await readResident(server);
  const own = await listSandboxes(place);
  for (let session = 0; session < SESSIONS; session++) await server.ask(AGENT, { prompt: PROMPT });
  const after = await readResident(server);
  const added = (await listSandboxes(place)).filter((id) => !own.includes(id));
  const used = await Promise.all(added.map((id) => readContainer(place, id)));
  const sum = used.reduce((total, bytes) => total + bytes, 0);
  return { budgie: toMegabytes((after - before) / SESSIONS), containers: toMegabytes(sum / SESSIONS) };
}

async function listSandboxes({ engine: { docker }, host }) {
  const found = await docker.listContainers({ filters: { label: ["dev.budgie"] } });
  return found.filter(({ Labels }) => Labels["dev.budgie.lock"]?.startsWith(host.home)).map(({ Id }) => Id);
}

async function readContainer({ engine: { docker } }, id) {
  const { memory_stats: memory } = await docker.getContainer(id).stats({ stream: false });
  const { inactive_file: v2, total_inactive_file: cached = v2 } = memory.stats ?? {};
  return Math.max(0, memory.usage - (cached ?? 0));
}

async function readResident({ pid }) {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)[1]) * 1024;
}

function toMegabytes(bytes) {
  return (bytes / 1024 / 1024).toFixed(1);
}

function report({ engine, memory, rounds, times }) {
  console.log(toCaption(rounds, engine));
  console.log(toTable(times, "x docker run", () => BASE));
  console.log(`\nA warm session: ${memory.budgie} MB in budgie, ${memory.containers} MB in its containers.`);
  const [base, first, warm] = [BASE, FIRST, WARM].map((title) => median(times.get(title)));
  const kept = first <= FIRST_LIMIT * base && warm <= WARM_LIMIT * base;
  console.log(
    kept
      ? "Within the limits."
      : `Over a limit: ${FIRST_LIMIT} x docker run for a first turn, ${WARM_LIMIT} for a warm one.`,
  );
  return kept;
}
