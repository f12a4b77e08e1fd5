import { randomUUID } from "node:crypto";
import { PassThrough } from "node:stream";
import { BudgieError } from "@budgie/core";
import type { Standby } from "@budgie/core/standby";
import type { ProcessNetwork } from "@budgie/sandbox/egress";
import { CACHE_BYTES } from "../session/create-caches.ts";
import type { SessionCopy } from "../session/session-copy.ts";
import { buildGitSetup, buildInitInput } from "@budgie/sandbox/init";
import { toBudgieError } from "../engine/to-budgie-error.ts";
import { launchSandbox, refuseCancelled, type Sandbox } from "./launch-sandbox.ts";
import { chooseLimits, planSandbox, type SandboxRequest } from "./plan-sandbox.ts";
import { createSandboxProcess, type SandboxProcess } from "./sandbox-process.ts";

export type ProcessStart = SandboxRequest & {
  readonly network: ProcessNetwork;
  /** Size of the home after the last turn; `undefined` if unknown */
  readonly heldBytes: number | undefined;
  /** Fills the session's home while the sandbox is launched */
  readonly prepareHome: () => Promise<void>;
  readonly copy: Pick<SessionCopy, "hold">;
  /** Takes what stands by for this start; resolves to `undefined` if that failed */
  readonly takeStandby: () => Waiting;
};

/** A sandbox that waits for a process, or the process that a turn left. */
export type DockerStandby = Sandbox | Standby;

type Waiting = Promise<DockerStandby | undefined> | undefined;

/**
 * Starts a process in a sandbox, and fills the home in parallel: the sandbox waits for its first line of stdin. If it fails or is
 * cancelled, no container is left behind.
 */
export async function startProcess(start: ProcessStart): Promise<SandboxProcess> {
  const { command, context, heldBytes, network, options } = start;
  refuseCancelled(options.signal);
  const token = randomUUID();
  const setup = buildGitSetup(options.git, options.directory);
  const input = buildInitInput({ ...command, setup }, options.input, token);
  const standby = start.takeStandby();
  const [launched, prepared] = await Promise.allSettled([
    context.starting(() => takeOrLaunch(start, standby).catch((error: unknown) => relaunch(start, error))),
    Promise.all([start.prepareHome(), network.guarded, options.ready]),
  ]);
  endUnused(standby, launched);
  const imageName = command.image ?? context.image.name;
  if (launched.status === "rejected") throw toBudgieError(launched.reason, imageName);
  const sandbox = launched.value;
  const { diskBytes } = chooseLimits(context, options);
  const { engine, turns } = context;
  const turn = Symbol("turn");
  turns.add(turn);
  const child = createSandboxProcess(sandbox, {
    pendingRemovals: engine.pendingRemovals,
    heldBytes,
    diskBytes,
    cacheBytes: command.cache && CACHE_BYTES,
    // The copies of other turns are read meanwhile, and their answers wait for that.
    restMs: () => (start.copyCovers !== undefined && turns.size > 1 ? REST_MS : 0),
    token,
  });
  void child.gone.then(() => {
    turns.delete(turn);
    return sandbox.removeCovers();
  });
  await Promise.all([child.ready, start.copy.hold(sandbox, start)]);
  if (prepared.status === "rejected" || options.signal?.aborted === true) {
    await child.stop("cancelled");
    refuseCancelled(options.signal);
    throw toBudgieError(prepared.status === "rejected" ? prepared.reason : undefined, imageName);
  }
  sandbox.socket.write(input);
  return stopOnAbort(options.signal, options.input === undefined ? child : { ...child, stdin: endedInput() });
}

// The time that is enough to read most copies.
const REST_MS = 500;

/** Takes the sandbox that was launched before if its plan is the same, and otherwise launches one. */
async function takeOrLaunch(request: SandboxRequest, standby: Waiting): Promise<Sandbox> {
  refuseCancelled(request.options.signal);
  await using plan = await planSandbox(request);
  const waiting = await standby;
  if (waiting?.key === plan.key && "confirm" in waiting) {
    // One that has waited is checked like one that was just started.
    if (await waiting.confirm(plan)) return waiting;
  }
  return await launchSandbox(plan);
}

/** Launches a sandbox once more if the session's container, whose network it joins, was stopped or removed meanwhile. */
async function relaunch(start: ProcessStart, error: unknown): Promise<Sandbox> {
  if (error instanceof BudgieError || !(await start.network.restore())) throw error;
  return takeOrLaunch(start, undefined);
}

/** Ends what stood by, unless this start took it. */
function endUnused(standby: Waiting, launched: PromiseSettledResult<Sandbox>): void {
  const used = launched.status === "fulfilled" ? launched.value : undefined;
  standby?.then((waiting) => (waiting === used ? undefined : waiting?.end())).catch(() => undefined);
}

/** Launches a sandbox before the call that needs it, unless budgie cannot look into it. */
export async function launchAhead(request: SandboxRequest): Promise<Sandbox | undefined> {
  if (!(await request.decideVisibility())) return undefined;
  await using plan = await planSandbox(request);
  const sandbox = await launchSandbox(plan);
  if (sandbox.root !== undefined) return sandbox;
  await sandbox.end();
  return undefined;
}

function stopOnAbort(signal: AbortSignal | undefined, child: SandboxProcess): SandboxProcess {
  if (signal === undefined) return child;
  // `exit` reports the outcome. If the stop fails, garbage collection removes the container.
  const stop = (): void => void child.stop("cancelled").catch(() => undefined);
  signal.addEventListener("abort", stop, { once: true });
  const forget = (): void => signal.removeEventListener("abort", stop);
  child.exit.then(forget, forget);
  return child;
}

/** Creates an ended stdin: the connection stays open as the turn's lease, and the agent gets no more input. */
function endedInput(): PassThrough {
  return new PassThrough().end();
}
