// The environment of a measurement: a user's home, a workspace, and budgies called by an MCP client.
import { mkdtemp, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { createHostHome } from "../../../packages/testkit/dist/host-home.js";
import { openEngine } from "../../lib/engine.mjs";

export const IMAGE = "budgie-demo:latest";
export const SANDBOX = ["--sandbox", "--sandbox-image", IMAGE];
/** The flags for the tests' stand-in agent without a sandbox */
export const LOCAL = [
  "--kiro-binary",
  fileURLToPath(new URL("../../../packages/testkit/bin/kiro-cli", import.meta.url)),
];
/** The time in which a caller reads an answer, and budgie makes things ahead without disturbing another case */
export const READING_MS = 3000;
/** An agent that answers at once, so that only the cost of running it is measured */
export const AGENT = "code-reviewer";
export const PROMPT = "Review this. [[say: Looks fine.]]";

const CALL_LIMIT_MS = 600_000;
export const MAIN = fileURLToPath(new URL("../../../packages/cli/bin/budgie.js", import.meta.url));

/** Runs `measure` with an environment, and then removes all of it in reverse order. */
export async function withPlace(measure) {
  const endings = [];
  const atEnd = (end) => void endings.unshift(end);
  try {
    const engine = await openEngine();
    const host = await createHostHome();
    atEnd(() => host[Symbol.asyncDispose]());
    const directory = await mkdtemp(join(tmpdir(), "budgie-bench-"));
    atEnd(() => rm(directory, { recursive: true, force: true }));
    const startServer = async (flags, { dockerHost = engine.endpoint.url, program = MAIN } = {}) => {
      const server = await connect({ host, directory, flags, dockerHost, program });
      atEnd(() => server.close());
      return server;
    };
    return await measure({ engine, host, directory, atEnd, startServer });
  } finally {
    for (const end of endings) await end();
  }
}

async function connect({ host, directory, flags, dockerHost, program }) {
  const { agentsDir, dataDir, home, promptsDir } = host;
  const places = ["--agents-dir", agentsDir, "--prompts-dir", promptsDir, "--kiro-data-dir", dataDir];
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program, ...places, ...flags],
    env: {
      PATH: process.env.PATH,
      HOME: home,
      DOCKER_HOST: dockerHost,
      DOCKER_CONFIG: join(homedir(), ".docker"),
      BUDGIE_ALLOW_ROOT: directory,
    },
    stderr: "ignore",
  });
  const client = new Client({ name: "budgie-bench", version: "1.0.0" });
  await client.connect(transport);
  await client.listTools();
  let last;

  async function ask(agent, input) {
    return call(`kiro-subagents.${agent}`, { directory, ...input });
  }

  async function call(name, args) {
    const result = await client.callTool({ name, arguments: args }, undefined, { timeout: CALL_LIMIT_MS });
    if (result.isError) throw new Error(result.content[0].text);
    return result.structuredContent;
  }

  return {
    pid: transport.pid,
    ask,
    call,
    firstTurn: async () => void ({ sessionId: last } = await ask(AGENT, { prompt: PROMPT })),
    /** Runs a first turn, and resolves to its session. */
    newSession: async (input) => (await ask(AGENT, { prompt: PROMPT, ...input })).sessionId,
    followUp: (sessionId, input) => ask(AGENT, { prompt: PROMPT, sessionId, ...input }),
    /** Runs a turn of the session that `firstTurn` created last */
    followUpTurn: () => ask(AGENT, { prompt: PROMPT, sessionId: last }),
    close: () => client.close(),
  };
}
