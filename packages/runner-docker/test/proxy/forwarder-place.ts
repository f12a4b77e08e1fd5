import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const GO_NAMES: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };

/** Returns the committed binary of an architecture. */
export const binaryOf = (architecture: string): string =>
  fileURLToPath(new URL(`../../forwarder/linux-${architecture}`, import.meta.url));

/** The command that runs the forwarder on this machine. */
export const OWN_FORWARDER: readonly string[] = [binaryOf(GO_NAMES[process.arch] ?? "amd64")];

/** A running forwarder, and a proxy that a test controls. */
export type ForwarderPlace = AsyncDisposable & {
  readonly socket: string;
  readonly port: number;
  readonly child: ChildProcess;
  /** Handles the proxy's connections from now on */
  serve(handle: (peer: Socket) => void): Promise<Server>;
  /** Connects to the forwarder, and can half-close */
  connect(): Socket;
  /** Memory, in KiB */
  memory(field: "VmRSS" | "VmHWM"): number;
  /** Processor time, in ms */
  busyMs(): number;
  openFiles(): number;
};

/** Starts a forwarder on a free port. Disposing it ends it and its proxy. */
export async function createForwarderPlace(program: readonly string[] = OWN_FORWARDER): Promise<ForwarderPlace> {
  const folder = mkdtempSync(join(tmpdir(), "budgie-"));
  const socket = join(folder, "proxy.sock");
  const port = await freePort();
  const [command = "", ...args] = program;
  const child = spawn(command, [...args, socket, `${port}`], { stdio: ["ignore", "ignore", "inherit"] });
  const servers: Server[] = [];
  const sockets = new Set<Socket>();
  const keep = (one: Socket): Socket => {
    sockets.add(one.on("error", () => undefined).on("close", () => sockets.delete(one)));
    return one;
  };
  const read = (file: string): string => readFileSync(`/proc/${child.pid}/${file}`, "utf8");
  await untilListening(port);
  return {
    socket,
    port,
    child,
    async serve(handle) {
      const server = createServer({ allowHalfOpen: true }, (peer) => handle(keep(peer))).listen(socket);
      servers.push(server);
      await once(server, "listening");
      return server;
    },
    connect: () => keep(connect({ port, host: "127.0.0.1", allowHalfOpen: true })),
    memory: (field) => Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(read("status"))?.[1]),
    busyMs() {
      const [user = 0, system = 0] = (read("stat").split(") ")[1] ?? "").split(" ").slice(11, 13).map(Number);
      return (user + system) * 10;
    },
    openFiles: () => readdirSync(`/proc/${child.pid}/fd`).length,
    async [Symbol.asyncDispose]() {
      for (const one of sockets) one.destroy();
      for (const server of servers) server.close();
      if (child.exitCode === null && child.kill("SIGKILL")) await once(child, "exit");
      rmSync(folder, { recursive: true });
    },
  };
}

/** Finds a port of the loopback that nothing listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

/** Waits by polling the kernel's table: a connection would be the forwarder's first. */
async function untilListening(port: number): Promise<void> {
  const entry = `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")} 00000000:0000 0A`;
  for (let tries = 0; tries < 500; tries++) {
    if (readFileSync("/proc/net/tcp", "utf8").includes(entry)) return;
    await sleep(10);
  }
  throw new Error("The forwarder does not listen.");
}
