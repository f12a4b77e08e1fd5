import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { createHostHome } from "../../../packages/testkit/dist/host-home.js";
import { listTraces, openEngine } from "../../lib/engine.mjs";

const IMAGE = "budgie-demo:latest";
const MAIN = fileURLToPath(new URL("../../../packages/cli/bin/budgie.js", import.meta.url));
const CALL = { timeout: 120_000 };
const run = promisify(execFile);

/** Creates a user's home with a budgie that may be killed at any time and is restarted by the next call. */
export async function createSoakPlace() {
  const engine = await openEngine();
  const before = new Set((await listTraces(engine.docker)).map(({ name }) => name));
  const host = await createHostHome();
  const directory = await mkdtemp(join(tmpdir(), "budgie-soak-"));
  const env = {
    PATH: process.env.PATH,
    HOME: host.home,
    DOCKER_HOST: engine.endpoint.url,
    DOCKER_CONFIG: join(homedir(), ".docker"),
    BUDGIE_ALLOW_ROOT: directory,
  };
  const samples = [];
  let budgie;
  let lives = 0;

  async function start() {
    const args = [MAIN, "--sandbox", "--sandbox-image", IMAGE];
    const transport = new StdioClientTransport({ command: process.execPath, args, env, stderr: "ignore" });
    const client = new Client({ name: "budgie-soak", version: "1.0.0" });
    await client.connect(transport);
    lives++;
    return { client, transport, life: lives };
  }

  const alive = () => (budgie ??= start());

  async function ask(agent, input, signal) {
    const call = { name: `kiro-subagents.${agent}`, arguments: { directory, ...input } };
    try {
      const { client } = await alive();
      const {
        content,
        isError,
        structuredContent: facts,
      } = await client.callTool(call, undefined, { ...CALL, signal });
      const end = isError ? "refused" : "answered";
      return { end, code: facts?.code, sessionId: facts?.sessionId, text: content.map(({ text }) => text).join("") };
    } catch (error) {
      return { end: signal.aborted ? "cancelled by the client" : "cut off", text: String(error) };
    }
  }

  async function kill() {
    const { transport } = await alive();
    process.kill(transport.pid, "SIGKILL");
    budgie = undefined;
  }

  async function listOwn() {
    const all = await listTraces(engine.docker);
    // Other budgies may use the engine. Containers without labels count, because they may be this one's.
    const own = all.filter(({ lock, name }) => !before.has(name) && (lock?.startsWith(host.home) ?? true));
    return own.map(({ title }) => title);
  }

  return {
    ask,
    kill,
    async sample(turn) {
      const { life, transport } = await alive();
      const status = await readFile(`/proc/${transport.pid}/status`, "utf8").catch(() => "");
      const residentMb = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1000;
      if (residentMb > 0) samples.push({ turn, life, residentMb });
    },
    async removeSomeTurn() {
      const [turn] = (await listOwn()).filter((title) => title.startsWith("container budgie-turn-"));
      if (turn === undefined) return;
      await engine.docker
        .getContainer(turn.slice("container ".length))
        .remove({ force: true })
        .catch(() => undefined);
    },
    /** Stops budgie, collects the garbage of the killed ones, and returns the leftovers and the run log. */
    async end() {
      const { client, transport } = await alive();
      const closed = new Promise((resolve) => (client.onclose = resolve));
      // The SDK's own close would kill it after some seconds.
      process.kill(transport.pid, "SIGTERM");
      await closed;
      await run(process.execPath, [MAIN, "gc"], { env });
      const { stdout } = await run(process.execPath, [MAIN, "runs", "ls", "--last", "100000", "--json"], {
        env,
        maxBuffer: 2 ** 30,
      });
      const files = await readdir(join(host.home, ".local", "state", "budgie"), { recursive: true });
      return {
        engine,
        lives,
        samples,
        leftOnEngine: await listOwn(),
        leftFiles: files.filter((file) => /^(?:sockets|scratch|owners|local-sessions)\/./.test(file)),
        runs: JSON.parse(stdout),
      };
    },
    async clear() {
      await host[Symbol.asyncDispose]();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
