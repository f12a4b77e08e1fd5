// Compares turns of an ACP agent, Codex with a local model, with the same agent in a plain "docker run --rm", and measures the memory of
// an agent that stays for its session's next turn.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createFakeLlm } from "../../packages/testkit/dist/fake-llm/fake-llm.js";
import { withPlace } from "./lib/bench-place.mjs";
import { dockerAcpTurn } from "./sides/docker-acp-turn.mjs";
import { interleave } from "./lib/interleave.mjs";
import { readContainers, readStatus } from "./lib/read-memory.mjs";
import { findOver, toFigure, toRows } from "./lib/table.mjs";

const IMAGE = "budgie-programs:latest";
const AGENT = "coder";
const PROMPT = "Review this. [[say: Looks fine.]]";
const BASE = "docker run --rm";
const FIRST = "sandbox, first turn";
const COLD = "sandbox, follow-up turn, --warm-idle 0";
const WARM = "sandbox, follow-up turn, warm";
const LIMITS = { [FIRST]: 1.5, [WARM]: 0.5 };
const SESSIONS = 4;

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
    const rows = toRows(times, () => BASE);
    return { rows: [...rows, ...(await measureMemory(place, flags))], over: findOver(rows, LIMITS) };
  });

/** Returns the shell script that configures the model of Codex, and executes Codex. */
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

/** Returns the megabytes that a session with a warm agent takes in budgie, and in its containers. */
async function measureMemory(place, flags) {
  const server = await place.startServer(flags);
  // Modules are loaded by the first turn.
  await server.ask(AGENT, { prompt: PROMPT });
  const [before, own] = [await readStatus(server.pid), await readContainers(place)];
  for (let session = 0; session < SESSIONS; session++) await server.ask(AGENT, { prompt: PROMPT });
  const after = await readStatus(server.pid);
  const added = (await readContainers(place)).filter(({ id }) => !own.some((other) => other.id === id));
  const sum = added.reduce((total, { megabytes }) => total + megabytes, 0);
  return [
    toFigure("a warm session, in budgie", (after.VmRSS - before.VmRSS) / SESSIONS, "MB"),
    toFigure("a warm session, in its containers", sum / SESSIONS, "MB"),
  ];
}
