import { createHash, randomUUID } from "node:crypto";
import { chmodSync, lstatSync, mkdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { BudgieError } from "./errors.ts";

/** Who owns a session: enough to ask, from another process, whether the owner still lives. */
export type OwnerRecord = {
  readonly instance: string;
  /** Which machine and pid namespace; an owner elsewhere cannot be asked */
  readonly host: string;
  /** Path of the owner's lock */
  readonly lock: string;
};

/** This process as an owner of sessions. */
export type Owner = {
  readonly record: OwnerRecord;
  /** Takes the lock; cheap to repeat. Nothing is written before the first call. */
  hold(): Promise<void>;
  stateOf(record: OwnerRecord): Promise<"own" | "live" | "dead" | "foreign">;
  /** Removes the lock of a dead owner; only a socket beside this owner's own, since anyone may have written the record. */
  clear(record: OwnerRecord): Promise<void>;
  release(): Promise<void>;
};

// sun_path holds 104 bytes on macOS and 108 on Linux, with the final NUL.
const LONGEST_SOCKET_PATH = 103;

/**
 * Creates this process's identity as an owner. Its lock is a listening unix socket in `stateDir`: the kernel frees it
 * when the process dies, however it dies, and it needs neither pids nor native code (ADR 0003).
 */
export function createOwner({ stateDir }: { readonly stateDir: string }): Owner {
  const instance = randomUUID();
  const folder = join(stateDir, "owners");
  const lock = join(folder, `${instance.slice(0, 8)}${instance.slice(24)}`);
  const record = { instance, host: hostId(), lock };
  let server: Promise<Server> | undefined;

  async function stateOf(other: OwnerRecord): ReturnType<Owner["stateOf"]> {
    if (other.instance === instance) return "own";
    if (other.host !== record.host) return "foreign";
    return (await isHeld(other.lock)) ? "live" : "dead";
  }

  return {
    record,
    async hold() {
      server ??= listen(folder, lock).catch((error: unknown) => {
        server = undefined;
        throw unusable(folder, error);
      });
      await server;
    },
    stateOf,
    async clear(other) {
      if (dirname(other.lock) !== folder || (await stateOf(other)) !== "dead") return;
      if (lstatSync(other.lock, { throwIfNoEntry: false })?.isSocket() === true) rmSync(other.lock, { force: true });
    },
    async release() {
      const held = await server?.catch(() => undefined);
      server = undefined;
      if (held === undefined) return;
      await new Promise((resolve) => held.close(resolve));
      rmSync(lock, { force: true });
    },
  };
}

async function listen(folder: string, lock: string): Promise<Server> {
  // Node would cut the path off, and listen somewhere else.
  if (Buffer.byteLength(lock) > LONGEST_SOCKET_PATH) {
    throw new BudgieError(
      "CONFIG_INVALID",
      `The state directory "${folder}" is too long for a socket in it. Choose a shorter one with --state-dir.`,
    );
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(lock, resolve);
  });
  // The lock must not keep the process alive.
  server.unref();
  return server;
}

function unusable(folder: string, error: unknown): unknown {
  const code = (error as NodeJS.ErrnoException).code;
  if (error instanceof BudgieError || code === undefined) return error;
  return new BudgieError(
    "CONFIG_INVALID",
    `Cannot keep a lock in "${folder}" (${code}). Make it writable, or choose another place with --state-dir.`,
    { cause: error },
  );
}

/** Only a refused connection and a missing file prove that nobody listens; any other trouble counts as alive. */
function isHeld(lock: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path: lock });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => {
      resolve(error.code !== "ECONNREFUSED" && error.code !== "ENOENT");
    });
  });
}

/** Names this machine and pid namespace, so that a budgie in a container is not judged by one outside. */
function hostId(): string {
  const facts = [
    hostname(),
    attempt(() => readFileSync("/etc/machine-id", "utf8")),
    attempt(() => readlinkSync("/proc/self/ns/pid")),
  ];
  return createHash("sha256").update(facts.join("\n")).digest("hex").slice(0, 16);
}

function attempt(read: () => string): string {
  try {
    return read().trim();
  } catch {
    return "";
  }
}
