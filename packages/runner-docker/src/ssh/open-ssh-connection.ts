import type { ChildProcess } from "node:child_process";
import type { Socket } from "node:net";
import { getBuiltinModule } from "node:process";
import { Duplex, type Readable } from "node:stream";
import type { LimitFunction } from "p-limit";
import type { SshHost } from "./parse-ssh-host.ts";
import { noSshError, toSshError } from "./to-ssh-error.ts";
import { toSshCommand } from "./to-ssh-command.ts";

/** An engine that is reached through the user's own `ssh`. */
export type SshAddress = {
  readonly ssh: SshHost;
  /** The environment of ssh, such as `PATH` and `SSH_AUTH_SOCK` */
  readonly env: Readonly<Record<string, string | undefined>>;
};

// A server shows what it likes before it lets anyone in.
const SAID_BYTES = 4096;
const OPENING_LIMIT_MS = 2000;

// Node's pipes to a process are sockets.
type SshProcess = ChildProcess & Readonly<Record<"stdin" | "stdout" | "stderr", Socket>>;

/**
 * Opens a connection to an engine: a process of ssh, whose stdin and stdout are the connection. It ends with its stdin, and so with budgie,
 * however that ends. `opening` limits the number of connections that have not heard from the engine yet.
 */
export function openSshConnection({ env, ssh }: SshAddress, opening: LimitFunction): Duplex {
  let child: SshProcess | undefined;
  const idle = createIdleTimer(() => connection.emit("timeout"));
  const connection: Duplex = new Duplex({
    allowHalfOpen: false,
    construct(callback) {
      opening(() => {
        if (!connection.destroyed) child = follow(start(ssh, env), connection, ssh);
        child?.stdout.on("data", idle.touch);
        callback();
        return child && isOpen(child);
      }).catch(callback);
    },
    read: () => void child?.stdout.resume(),
    // A writer to an ssh that ended learns the reason from its end.
    write(chunk: Buffer, _encoding, callback) {
      idle.touch();
      child?.stdin.write(chunk, () => callback());
    },
    final: (callback) => void child?.stdin.end(() => callback()),
    destroy(error, callback) {
      idle.set(0);
      // A paused pipe would never be seen to end, and a helper of ssh may keep stderr open.
      for (const stream of [child?.stdin, child?.stdout, child?.stderr]) stream?.destroy();
      child?.kill();
      callback(error);
    },
  });
  return Object.assign(connection, {
    ...createCounting(() => child),
    setTimeout(limitMs: number, onTimeout?: () => void): Duplex {
      idle.set(limitMs);
      if (onTimeout === undefined) return connection;
      return limitMs > 0 ? connection.once("timeout", onTimeout) : connection.off("timeout", onTimeout);
    },
    setKeepAlive: () => connection,
    setNoDelay: () => connection,
    destroySoon: () => connection.end(() => connection.destroy()),
  });
}

function start(host: SshHost, env: SshAddress["env"]): SshProcess {
  // Most engines need no processes, so the module is loaded on demand.
  return getBuiltinModule("node:child_process").spawn("ssh", toSshCommand(host), {
    env,
    stdio: "pipe",
    // Ctrl-C in a terminal goes to all of its processes, but budgie still has to remove containers then.
    detached: true,
  }) as SshProcess;
}

/** Passes on what the process says, and then its end: an error unless it ended well. */
function follow(child: SshProcess, connection: Duplex, host: SshHost): SshProcess {
  // First, since a process that did not start may have no pipes.
  child.once("error", (cause) => connection.destroy(noSshError(host, cause)));
  let said = Buffer.alloc(0);
  child.stderr.on("data", (chunk: Buffer) => (said = Buffer.concat([said, chunk]).subarray(-SAID_BYTES)));
  child.stdout.on("data", (chunk: Buffer) => {
    if (!connection.push(chunk)) child.stdout.pause();
  });
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", () => undefined);
  // Not the end of stderr, which a shared connection of the user's ssh may keep open.
  Promise.all([ended(child.stdout), exited(child)]).then(
    ([, exitCode]) => {
      if (exitCode !== 0) return connection.destroy(toSshError(host, { exitCode, said: said.toString("utf8") }));
      connection.push(null);
      // A connection that nobody reads learns that it has ended.
      return connection.read(0);
    },
    () => undefined,
  );
  return child;
}

const ended = (stream: Readable): Promise<void> =>
  new Promise((resolve) => {
    stream.once("close", resolve);
  });

const exited = (child: SshProcess): Promise<number | null> =>
  new Promise((resolve) => {
    child.once("exit", resolve);
  });

/** Resolves once the engine was heard, or can no longer be. */
function isOpen(child: SshProcess): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, OPENING_LIMIT_MS);
    const done = (): void => {
      clearTimeout(timer);
      resolve();
    };
    child.stdout.once("data", done);
    child.once("exit", done).once("error", done);
  });
}

/** Creates the timer of a connection over which nothing passes. */
function createIdleTimer(onTimeout: () => void) {
  let timer: NodeJS.Timeout | undefined;
  return {
    touch: (): void => void timer?.refresh(),
    /** Starts it anew; 0 ends it */
    set(limitMs: number): void {
      clearTimeout(timer);
      timer = limitMs > 0 ? setTimeout(onTimeout, limitMs).unref() : undefined;
    },
  };
}

/** Creates a socket's methods that decide whether budgie stays alive for it. */
function createCounting(findChild: () => SshProcess | undefined) {
  const listCounted = () => {
    const child = findChild();
    return child === undefined ? [] : [child, child.stdin, child.stdout, child.stderr];
  };
  return {
    ref: () => listCounted().forEach((one) => one.ref()),
    unref: () => listCounted().forEach((one) => one.unref()),
  };
}
