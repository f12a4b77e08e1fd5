// node scripts/long-call/main.mjs [SECONDS]: see scripts/long-call/run.
import { mkdtemp, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { createHostHome } from "../../packages/testkit/dist/host-home.js";
import { listTraces, openEngine } from "../lib/engine.mjs";

const MAIN = fileURLToPath(new URL("../../packages/cli/bin/budgie.js", import.meta.url));
const ANSWER = "It took long.";
// The SDK's default timeout.
const PATIENCE_S = 60;

const [seconds = 600] = process.argv.slice(2).map(Number);
if (!(seconds > 0)) {
  console.error(`Expected a number of seconds, got "${process.argv[2]}".`);
  process.exit(2);
}
const engine = await openEngine();
const host = await createHostHome();
const directory = await mkdtemp(join(tmpdir(), "budgie-long-call-"));
const began = performance.now();
let notifications = 0;

try {
  process.exitCode = (await callOnce()) && (await isNothingLeft()) ? 0 : 1;
} finally {
  await host[Symbol.asyncDispose]();
  await rm(directory, { recursive: true, force: true });
}

async function callOnce() {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MAIN, "--sandbox", "--sandbox-image", "budgie-demo:latest", "--agent-timeout", `${2 * seconds}s`],
    env: {
      PATH: process.env.PATH,
      HOME: host.home,
      DOCKER_HOST: engine.endpoint.url,
      DOCKER_CONFIG: join(homedir(), ".docker"),
      BUDGIE_ALLOW_ROOT: directory,
    },
    stderr: "ignore",
  });
  const client = new Client({ name: "budgie-long-call", version: "1.0.0" });
  await client.connect(transport);
  tell(
    `Calls a sandboxed agent that sleeps ${seconds} s; the client times out after ${PATIENCE_S} s without progress.`,
  );
  try {
    const prompt = `[[sleep ${1000 * seconds}]][[say: ${ANSWER}]]`;
    const call = { name: "kiro-subagents.code-reviewer", arguments: { prompt, directory } };
    const { content, isError, structuredContent } = await client.callTool(call, undefined, {
      timeout: 1000 * PATIENCE_S,
      resetTimeoutOnProgress: true,
      onprogress({ message, progress }) {
        notifications++;
        tell(`${String(progress).padStart(4)}  ${message}`);
      },
    });
    const text = structuredContent?.response ?? content.map((block) => block.text).join("");
    tell(`${isError ? "Failed" : "Answered"} after ${notifications} notifications: ${text}`);
    return !isError && text === ANSWER;
  } catch (error) {
    tell(`Timed out or failed after ${notifications} notifications: ${String(error)}`);
    return false;
  } finally {
    await client.close();
  }
}

async function isNothingLeft() {
  const left = (await listTraces(engine.docker)).filter(({ lock }) => lock?.startsWith(host.home));
  tell(`${left.length} of its containers and volumes are left on the engine.`);
  return left.length === 0;
}

function tell(line) {
  const passed = Math.floor((performance.now() - began) / 1000);
  const [minutes, rest] = [Math.floor(passed / 60), passed % 60].map((number) => String(number).padStart(2, "0"));
  console.log(`${minutes}:${rest}  ${line}`);
}
