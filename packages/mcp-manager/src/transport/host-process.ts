import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { withFallback } from "../bounds/with-fallback.ts";
import type { ProcessServer } from "../config/mcp-server.ts";

/** A server's process and all that it started. */
export type HostProcess = {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves to the reason for its end, as text, when it has exited and the rest of its group was killed */
  readonly ended: Promise<string>;
  /** Closes its stdin, and ends its process group if it does not exit by itself. */
  readonly stop: () => Promise<void>;
};

export type HostProcessOptions = {
  /** The environment of this process; a server gets only a few of its variables */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
};

/** Starts a server in a process group of its own, which ends when this process does. */
export function startHostProcess({ args, command, env }: ProcessServer, host: HostProcessOptions): HostProcess {
  const [file, ...rest] =
    process.platform === "win32" ? [command, ...args] : ["/bin/sh", "-c", LEASE, "sh", command, ...args];
  const child = spawn(file, rest, {
    cwd: host.cwd,
    env: { ...pickBaseEnvironment(host.env), ...env },
    detached: process.platform !== "win32",
    stdio: ["pipe", "pipe", "pipe", "pipe"],
    windowsHide: true,
  });
  const [stdin, stdout, stderr, lease] = child.stdio as [Writable, Readable, Readable, Writable, unknown];
  for (const stream of [stdin, lease]) stream.on("error", () => undefined);
  const exited = awaitExit(child);
  const ended = exited.finally(() => {
    signalGroup(child, "SIGKILL");
    lease.destroy();
  });

  async function stop(): Promise<void> {
    stdin.end();
    const hasExited = exited.then(() => true);
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      if (await withFallback(hasExited, GRACE_MS, false)) break;
      signalGroup(child, signal);
    }
    await ended;
    // A process outside the group may hold its pipes.
    for (const stream of [stdout, stderr]) stream.destroy();
  }

  let stopping: Promise<void> | undefined;
  return { stdin, stdout, stderr, ended, stop: () => (stopping ??= stop()) };
}

const GRACE_MS = 2000;

/**
 * Waits beside the server for EOF on a pipe that only budgie holds, and then kills the group. It keeps the group's id in use, so
 * that no signal reaches another group with the same id.
 */
const LEASE =
  "(trap '' TERM INT HUP; read -r end <&3; sleep 2; kill -TERM 0; sleep 1; kill -KILL 0) </dev/null >/dev/null 2>&1 & " +
  'exec 3<&-; exec "$@"';

const BASE =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|TERM|TMPDIR|TZ|LANG|LC_\w+|SYSTEMROOT|APPDATA|LOCALAPPDATA|USERPROFILE)$/i;

/** Returns the variables that a program needs to run, none of which is a secret. */
function pickBaseEnvironment(env: HostProcessOptions["env"]): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => BASE.test(name)));
}

async function awaitExit(child: ChildProcess): Promise<string> {
  try {
    const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
    if (code === 127) return "its command was not found";
    if (code === 126) return "its command cannot be run";
    return code === null ? `it was ended by ${signal}` : `it exited with ${code}`;
  } catch (error) {
    return `it cannot be started (${(error as NodeJS.ErrnoException).code ?? "unknown"})`;
  }
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === "win32" ? pid : -pid, signal);
  } catch {
    // The process has exited.
  }
}
