import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { formatTarget, type AgentProcess, type Exit, type RunnerSession } from "@budgie/core";
import type { SandboxPlace } from "../agents/server-place.ts";
import type { ProcessServer } from "../config/mcp-server.ts";
import type { ServerProcess } from "../transport/process-transport.ts";

export type SandboxStart = {
  readonly place: SandboxPlace;
  readonly session: RunnerSession;
  readonly stateDir: string;
  readonly signal: AbortSignal;
  readonly log: (line: string) => void;
};

/** Starts a server's program in a session of its own. */
export async function startInSandbox(
  { args, command, env }: ProcessServer,
  { log, place, session, signal, stateDir }: SandboxStart,
): Promise<ServerProcess> {
  const { egress, image } = place;
  const child = await session.start(
    { argv: [command, ...args], env, projections: [], image },
    {
      directory: createEmptyFolder(stateDir),
      access: { workspace: "ro", egress, limits: {} },
      ownNetwork: true,
      signal,
    },
  );
  if (egress.mode === "none") log(NO_NETWORK);
  const { stderr, stdin, stdout } = child;
  stdin.on("error", () => undefined);
  const reported = logDenied(child, log);
  let stopping: Promise<void> | undefined;

  async function stop(): Promise<void> {
    stdin.end();
    const over = new AbortController();
    const late = sleep(GRACE_MS, undefined, { signal: over.signal }).catch(() => undefined);
    await Promise.race([child.exit.catch(() => undefined), late]);
    over.abort();
    await child.stop("shutdown");
    await reported;
  }

  const ended = child.exit.then(explainExit, (error: Error) => error.message);
  return { stdin, stdout, stderr, ended, stop: () => (stopping ??= stop()) };
}

const GRACE_MS = 2000;

/** Creates the empty folder that servers see in place of a workspace. */
function createEmptyFolder(stateDir: string): string {
  const folder = join(stateDir, "mcp", "empty");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // With user remapping, the container's user is another one on the host.
  chmodSync(folder, 0o755);
  return folder;
}

const NO_NETWORK =
  'Its container has no network, since its section allows no host. "allowHost" there names those that it needs.';

/** Logs the hosts that a server was denied, once it has ended. */
async function logDenied(child: AgentProcess, log: (line: string) => void): Promise<void> {
  await child.exit.catch(() => undefined);
  const { denied = [] } = (await child.egress?.()) ?? {};
  for (const { why, ...target } of denied) log(`It was refused ${formatTarget(target)}: ${why}.`);
}

function explainExit({ exitCode, reason, signal }: Exit): string {
  if (reason === "out-of-memory") return "it needed more memory than its container may have";
  if (reason === "disk-limit") return "it filled the disk of its container";
  if (reason === "command-not-found") return "its command was not found in the image of its container";
  if (exitCode === 126) return "its command cannot be run";
  return exitCode === undefined ? `it was ended by ${signal ?? "its container"}` : `it exited with ${exitCode}`;
}
