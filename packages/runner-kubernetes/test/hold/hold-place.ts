import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { readMessages, type Message } from "./read-messages.ts";

const ARCHITECTURE = process.arch === "arm64" ? "arm64" : "amd64";
const AGENT = 1000;

/** Returns a committed file of `hold`. */
export const holdFile = (name: string): string => fileURLToPath(new URL(`../../hold/${name}`, import.meta.url));

/** The program for this machine. */
export const HOLD = holdFile(`linux-${ARCHITECTURE}`);

/** Why `hold` cannot be process 1 here, or `undefined`. */
export const HOLD_LACK =
  process.platform !== "linux" || process.getuid?.() !== 0 ? "needs root on Linux, for a PID namespace" : undefined;

/** A process to order, whose other settings are those of a shell without a jail around its network. */
type HoldOrder = {
  readonly argv: readonly string[];
  readonly env?: readonly string[];
  readonly unset?: readonly string[];
  readonly ports?: readonly number[];
  readonly directory?: string;
  readonly isReadOnly?: boolean;
};

/** The end of a process, and all that it printed. */
type HoldResult = {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly code: number;
  readonly signal: number;
  /** Processes that the kernel killed for memory */
  readonly oomKills: number;
  /** Bytes of stdin that were taken */
  readonly taken: number;
};

/** A `hold` in its own PID namespace, as the agent's user, and the sidecar's end of its socket. */
export type HoldPlace = AsyncDisposable & {
  readonly folder: string;
  readonly child: ChildProcess;
  readonly sidecar: Socket;
  readonly hello: readonly number[];
  readonly next: () => Promise<Message>;
  /** Waits until no more bytes arrive */
  untilBlocked(): Promise<void>;
  send(kind: string, payload?: Buffer): void;
  start(order: HoldOrder): void;
  finish(): Promise<HoldResult>;
  run(order: HoldOrder): Promise<HoldResult>;
};

/** Encodes numbers as messages have them. */
export function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [at, value] of values.entries()) bytes.writeUInt32LE(value >>> 0, 4 * at);
  return bytes;
}

/** Words that run a command as the agent's user. */
export const AS_AGENT = `setpriv --reuid=${AGENT} --regid=${AGENT} --clear-groups`.split(" ");

/** Returns the command that makes `hold` process 1 of a PID namespace, as the agent's user, after a script of root's. */
export function asFirst(folder: string, script = ""): readonly string[] {
  const isolate = "unshare --mount --pid --fork --kill-child --mount-proc sh -euc".split(" ");
  return [...isolate, `${script}\nexec env -u PWD ${AS_AGENT.join(" ")} ${folder}/hold ${folder}/hold.sock`];
}

/** Makes a folder with the program, and its profile beside the socket. */
export function makeHoldFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "budgie-"));
  chmodSync(folder, 0o755);
  copyFileSync(HOLD, join(folder, "hold"));
  copyFileSync(holdFile(`profile-${ARCHITECTURE}.bpf`), join(folder, "profile.bpf"));
  return folder;
}

/** Starts `hold` and waits until it has connected. A script of root's may come before it in its namespaces. */
export async function createHoldPlace(env: Readonly<Record<string, string>> = {}, script?: string): Promise<HoldPlace> {
  const folder = makeHoldFolder();
  const server = createServer().listen(join(folder, "hold.sock"));
  await once(server, "listening");
  chmodSync(join(folder, "hold.sock"), 0o777);
  const [command = "", ...args] = asFirst(folder, script);
  const child = spawn(command, args, {
    stdio: ["ignore", "ignore", "inherit"],
    env: { PATH: process.env["PATH"], ...env },
  });
  const [sidecar] = (await once(server, "connection")) as [Socket];
  sidecar.on("error", () => undefined);
  server.close();
  const messages = readMessages(sidecar);
  const next = async (): Promise<Message> => {
    const { value, done } = await messages.next();
    if (done === true) throw new Error("the socket has ended");
    return value;
  };
  const hello = (await next()).payload;
  const send = (kind: string, payload: Buffer = Buffer.alloc(0)): void =>
    void sidecar.write(Buffer.concat([Buffer.from(`${kind}\0\0\0`), numbers(payload.length), payload]));
  const place = {
    folder,
    child,
    sidecar,
    next,
    send,
    hello: [0, 4, 8].map((at) => hello.readUInt32LE(at)),
    async untilBlocked(): Promise<void> {
      for (let last = -1; last !== sidecar.bytesRead; await sleep(100)) last = sidecar.bytesRead;
    },
    start: (order: HoldOrder) => send("S", encodeOrder(order)),
    async finish(): Promise<HoldResult> {
      const streams: Record<string, Buffer[]> = { O: [], R: [] };
      for (let taken = 0; ;) {
        const { kind, payload } = await next();
        streams[kind]?.push(payload);
        if (kind === "U") taken += payload.readUInt32LE(0);
        if (kind !== "E") continue;
        const [stdout, stderr] = ["O", "R"].map((name) => Buffer.concat(streams[name] ?? []));
        const [code = 0, signal = 0, oomKills = 0] = [0, 4, 8].map((at) => payload.readInt32LE(at));
        return { stdout: stdout as Buffer, stderr: stderr as Buffer, code, signal, oomKills, taken };
      }
    },
    run(order: HoldOrder): Promise<HoldResult> {
      place.start(order);
      return place.finish();
    },
    async [Symbol.asyncDispose](): Promise<void> {
      sidecar.destroy();
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      rmSync(folder, { recursive: true });
    },
  };
  return place;
}

function encodeOrder({ argv, env = [], unset = [], ports, directory = "/tmp", isReadOnly = false }: HoldOrder): Buffer {
  const texts = [directory, ...argv, ...env, ...unset].map((text) => `${text}\0`).join("");
  const counts = [argv.length, env.length, unset.length, ports?.length ?? 0xffffffff, 4096, Number(isReadOnly)];
  return Buffer.concat([numbers(...counts, ...(ports ?? [])), Buffer.from(texts)]);
}
