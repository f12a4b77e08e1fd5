import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { connectEngine, type Engine } from "../../../../runner-docker/src/engine/engine.ts";
import { TEST_IMAGE } from "../../helpers/start-budgie.ts";

/** An engine only for tests, which may be stopped, killed, hung and filled up. */
export type SecondEngine = AsyncDisposable & {
  /** Its client, a new one after each start */
  readonly docker: () => Engine["docker"];
  /** Its `DOCKER_HOST` */
  readonly host: string;
  /** Its data folder, on a file system of limited size */
  readonly dataRoot: string;
  readonly start: () => Promise<void>;
  /** Stops it, with SIGTERM also its containers */
  readonly stop: (signal: "SIGTERM" | "SIGKILL") => Promise<void>;
  /** Hangs it: its socket still accepts connections, but nothing answers */
  readonly hang: () => void;
  readonly goOn: () => void;
  readonly loadImage: () => Promise<void>;
};

const run = promisify(execFile);
const SIZE = "1500m";
const START_LIMIT_MS = 60_000;

/** Starts an engine in a network namespace of its own, so that it cannot touch the first engine's network. Needs root. */
export async function startSecondEngine(): Promise<SecondEngine> {
  const folder = mkdtempSync(join(tmpdir(), "budgie-engine-"));
  const dataRoot = join(folder, "data");
  const socketPath = join(folder, "e.sock");
  mkdirSync(dataRoot);
  await run("mount", ["-t", "tmpfs", "-o", `size=${SIZE}`, "tmpfs", dataRoot]);
  const host = `unix://${socketPath}`;
  let docker: Engine["docker"] | undefined;
  const log = openSync(join(folder, "log"), "a");
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    const own = ["--data-root", dataRoot, "--exec-root", join(folder, "exec"), "--pidfile", join(folder, "pid")];
    const args = ["-n", "dockerd", ...own, "-H", host, "--bridge", "none", "--iptables=false"];
    child = spawn("unshare", args, { stdio: ["ignore", log, log] });
    const until = performance.now() + START_LIMIT_MS;
    const connect = () => connectEngine({ DOCKER_HOST: host }, folder).catch(() => undefined);
    for (docker = undefined; docker === undefined; docker = (await connect())?.docker) {
      if (performance.now() > until || child.exitCode !== null) {
        throw new Error(
          `The second engine did not start: ${readFileSync(join(folder, "log"), "utf8")
            .split("\n")
            .filter((l) => !l.includes("grpc"))
            .join("\n")}`,
        );
      }
      await sleep(100);
    }
  }

  async function stop(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
    // containerd ends with the engine; if it is not reaped, the next engine would treat it as alive.
    rmSync(join(folder, "exec", "containerd", "containerd.pid"), { force: true });
  }

  const engine: SecondEngine = {
    docker() {
      if (docker === undefined) throw new Error("The second engine does not run.");
      return docker;
    },
    host,
    dataRoot,
    start,
    stop,
    hang: () => void child?.kill("SIGSTOP"),
    goOn: () => void child?.kill("SIGCONT"),
    loadImage: async () => {
      await run("sh", ["-c", 'docker save "$1" | docker -H "$2" load -q', "sh", TEST_IMAGE, host]);
    },
    async [Symbol.asyncDispose]() {
      child?.kill("SIGCONT");
      await stop("SIGTERM");
      await run("umount", ["-R", "-l", dataRoot]).catch(() => undefined);
      rmSync(folder, { recursive: true, force: true });
    },
  };
  try {
    await start();
    await engine.loadImage();
    return engine;
  } catch (error) {
    await engine[Symbol.asyncDispose]();
    throw error;
  }
}
