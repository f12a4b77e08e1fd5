import { platform, release } from "node:os";
import type Docker from "dockerode";
import { BudgieError } from "@budgie/core";
import { openContainerRoot, type LookInto } from "../container-files/container-root.ts";
import type { Engine } from "../engine/engine.ts";
import type { IdleContainers } from "./idle-containers.ts";

/** A session's container, as far as a look into it needs it. */
type SessionContainer = {
  readonly handle: Docker.Container;
  readonly name: string;
  start(): Promise<void>;
  stop(): Promise<void>;
  isRunning(): Promise<boolean>;
};

/** Knowledge of whether the kernel shows budgie the mounts of an engine's containers. */
export type EngineSight = {
  /**
   * Decides once, by the session container of the first session: no agent runs in it that could make the look fail. From then on
   * a container that cannot be looked into is refused.
   */
  decide(sessionContainer: SessionContainer): Promise<boolean>;
};

export type EngineSightParts = {
  readonly engine: Engine;
  /** `undefined` for the engine's default */
  readonly runtime: string | undefined;
  readonly idleContainers: IdleContainers;
  readonly lookInto: LookInto | undefined;
};

/** Time after a container's start within which the kernel must show its mounts. */
export const PATIENCE_MS = 2000;

// Session containers run on the engine's default runtime. These others are known to use this kernel.
const SAME_KERNEL = new Set([undefined, "runc", "crun", "io.containerd.runc.v2"]);

/** Creates the sight of an engine, not yet decided. */
export function createEngineSight({ engine, idleContainers, lookInto, runtime }: EngineSightParts): EngineSight {
  let deciding: Promise<boolean> | undefined;
  // As far as it says: whatever the way to it, the look itself shows whether its containers are this machine's.
  const isHere = platform() === "linux" && engine.kernel === release() && engine.system !== "Docker Desktop";
  // A remapped container is a stranger's to all but root.
  const isOwn = engine.users !== "remapped" || process.getuid?.() === 0;

  async function look(sessionContainer: SessionContainer): Promise<boolean> {
    idleContainers.acquire(sessionContainer);
    try {
      await sessionContainer.start();
      await using root = await openContainerRoot(sessionContainer.handle, { lookInto, patienceMs: PATIENCE_MS });
      if (root === undefined && !(await sessionContainer.isRunning())) throw toEnded(sessionContainer);
      return root !== undefined;
    } finally {
      await idleContainers.releaseAndStop(sessionContainer);
    }
  }

  async function decide(sessionContainer: SessionContainer): Promise<boolean> {
    if (!isHere || !isOwn || !SAME_KERNEL.has(runtime)) return false;
    deciding ??= look(sessionContainer);
    // An engine that failed can be asked again.
    deciding.catch(() => (deciding = undefined));
    return deciding;
  }

  return { decide };
}

/** The error of a session container in which nobody could look: that says nothing of the kernel. */
function toEnded({ name }: SessionContainer): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The container "${name}", which a session needs, ended right after its start. Check the engine, and ask again.`,
  );
}
