import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { connect, createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { connectEngine } from "../../src/engine/engine.ts";

/** A Docker that sees nothing of the folder `hidden`, in namespaces of mounts, network and processes of its own, behind a TCP port. */
export type EngineElsewhere = AsyncDisposable & {
  /** The `DOCKER_HOST` of a budgie that takes it for an engine on another machine */
  readonly host: string;
};

const run = promisify(execFile);
const START_LIMIT_MS = 60_000;

/** Returns the reason for which this machine cannot run such an engine; `undefined` if it can. */
export function findElsewhereLack(): string | undefined {
  if (process.getuid?.() !== 0) return "it needs root";
  try {
    accessSync("/usr/sbin/dockerd", constants.X_OK);
    return undefined;
  } catch {
    return "there is no dockerd";
  }
}

/** Starts the engine, and loads an image of the tests' engine into it. */
export async function startEngineElsewhere(hidden: string, image: string): Promise<EngineElsewhere> {
  const folder = mkdtempSync(join(tmpdir(), "budgie-elsewhere-"));
  const socket = join(folder, "e.sock");
  const own = [
    "--data-root",
    join(folder, "data"),
    "--exec-root",
    join(folder, "exec"),
    "--pidfile",
    join(folder, "pid"),
  ];
  // Without a bridge, it leaves the bridge of the first engine alone.
  const args = [...own, "-H", `unix://${socket}`, "--bridge=none", "--iptables=false", "--ip6tables=false"];
  const script =
    'hidden=$1 data=$2; shift 2; mount -t tmpfs none "$hidden"; mount -t tmpfs none "$data"; exec dockerd "$@"';
  for (const name of ["data", "exec"]) mkdirSync(join(folder, name));
  const log = openSync(join(folder, "log"), "a");
  const namespaces = [
    "--mount",
    "--net",
    "--pid",
    "--fork",
    "--mount-proc",
    "--kill-child",
    "--propagation",
    "private",
  ];
  const child = spawn("unshare", [...namespaces, "sh", "-euc", script, "sh", hidden, join(folder, "data"), ...args], {
    stdio: ["ignore", log, log],
  });
  const gone = once(child, "exit");
  const relay = createServer({ allowHalfOpen: true }, (client) => {
    const engine = connect({ path: socket, allowHalfOpen: true });
    for (const end of [client, engine]) end.on("error", () => [client, engine].forEach((other) => other.destroy()));
    client.pipe(engine).pipe(client);
  }).listen(0, "127.0.0.1");
  await once(relay, "listening");

  async function stop(): Promise<void> {
    relay.close();
    // The first process of its namespace is dockerd, whose end takes all others with it.
    const first = await run("pgrep", ["-P", String(child.pid)]).catch(() => undefined);
    if (first !== undefined) process.kill(Number(first.stdout.trim()), "SIGTERM");
    else child.kill();
    await gone;
    rmSync(folder, { recursive: true, force: true });
  }

  try {
    const until = performance.now() + START_LIMIT_MS;
    while ((await connectEngine({ DOCKER_HOST: `unix://${socket}` }, folder).catch(() => undefined)) === undefined) {
      if (performance.now() > until || child.exitCode !== null)
        throw new Error(`The engine did not start: ${readFileSync(join(folder, "log"), "utf8")}`);
      await sleep(50);
    }
    await run("sh", ["-c", 'docker save "$1" | docker -H "$2" load -q', "sh", image, `unix://${socket}`]);
  } catch (error) {
    await stop();
    throw error;
  }
  const { port } = relay.address() as AddressInfo;
  return { host: `tcp://127.0.0.1:${port}`, [Symbol.asyncDispose]: stop };
}
