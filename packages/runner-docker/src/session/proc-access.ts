import { platform, release } from "node:os";
import type Docker from "dockerode";
import { BudgieError } from "@budgie/core";
import type { IdleContainers } from "@budgie/sandbox/egress";
import type { OpenRoot } from "@budgie/sandbox/proc";
import { LOOK_TIMEOUT_MS, openContainerRoot } from "../container-files/open-container-root.ts";
import type { Engine } from "../engine/engine.ts";

/** The members of a session container that an inspection needs. */
type InspectedContainer = {
  readonly handle: Docker.Container;
  readonly name: string;
  start(): Promise<void>;
  stop(): Promise<void>;
  isRunning(): Promise<boolean>;
};

/** The decision whether budgie can see the mounts of an engine's containers through the kernel. */
export type ProcAccess = {
  /**
   * Decides once, by looking into the container of the first session, in which no agent runs that could prevent it. If that
   * succeeds, containers that cannot be looked into are refused from then on.
   */
  decide(sessionContainer: InspectedContainer): Promise<boolean>;
};

export type ProcAccessOptions = {
  readonly engine: Engine;
  /** `undefined` for the engine's default */
  readonly runtime: string | undefined;
  readonly idleContainers: IdleContainers;
  readonly openRoot: OpenRoot | undefined;
};

// Session containers run on the engine's default runtime. These runtimes are known to use the same kernel.
const SAME_KERNEL = new Set([undefined, "runc", "crun", "io.containerd.runc.v2"]);

/** Creates the decision for an engine, which is made on the first call. */
export function createProcAccess({ engine, idleContainers, openRoot, runtime }: ProcAccessOptions): ProcAccess {
  let deciding: Promise<boolean> | undefined;
  // According to the engine's own report; the look itself shows whether its containers run on this machine.
  const isHere = platform() === "linux" && engine.kernel === release() && engine.system !== "Docker Desktop";
  // Only root may look into the container of a remapped user.
  const isOwn = engine.users !== "remapped" || process.getuid?.() === 0;

  async function look(sessionContainer: InspectedContainer): Promise<boolean> {
    idleContainers.acquire(sessionContainer);
    try {
      await sessionContainer.start();
      await using root = await openContainerRoot(sessionContainer.handle, { openRoot, timeoutMs: LOOK_TIMEOUT_MS });
      if (root === undefined && !(await sessionContainer.isRunning())) throw endedError(sessionContainer);
      return root !== undefined;
    } finally {
      await idleContainers.releaseAndStop(sessionContainer);
    }
  }

  async function decide(sessionContainer: InspectedContainer): Promise<boolean> {
    if (!isHere || !isOwn || !SAME_KERNEL.has(runtime)) return false;
    deciding ??= look(sessionContainer);
    // After an error, the next call decides again.
    deciding.catch(() => (deciding = undefined));
    return deciding;
  }

  return { decide };
}

/** Returns the error for a session container that ended before the look, which says nothing about the kernel. */
function endedError({ name }: InspectedContainer): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The container "${name}", which a session needs, ended right after its start. Check the engine, and ask again.`,
  );
}
