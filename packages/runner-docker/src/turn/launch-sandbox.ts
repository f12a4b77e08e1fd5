import { randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import type Docker from "dockerode";
import { BudgieError } from "@budgie/core";
import { type ContainerRoot, confirmMounts } from "@budgie/sandbox/proc";
import { attach } from "../engine/attach.ts";
import { createContainer } from "../engine/create-container.ts";
import { removeContainer } from "../engine/remove-container.ts";
import { timeLimit } from "../engine/with-timeout.ts";
import { openConfirmedRoot } from "./open-confirmed-root.ts";
import type { SandboxPlan, SandboxRequest } from "./plan-sandbox.ts";

/** A running sandbox, which waits for the first line of its stdin. */
export type Sandbox = {
  readonly container: Docker.Container;
  /** The attached connection */
  readonly socket: Duplex;
  /** `undefined` if the container is not accessible */
  readonly root: ContainerRoot | undefined;
  /** Path of the workspace in it */
  readonly workspacePath: string;
  /** The key of its plan */
  readonly key: string;
  /** Returns true if it still runs, with the network and the mounts of a plan that has its key. */
  confirm(plan: SandboxPlan): Promise<boolean>;
  /** Removes the folder of its covers, after its container. */
  removeCovers(): Promise<void>;
  /** Removes it, if no agent ran in it. */
  end(): Promise<void>;
};

/** Creates a planned sandbox, attaches to it, starts it, and confirms its mounts. If one of these fails, no container is left behind. */
export async function launchSandbox(plan: SandboxPlan): Promise<Sandbox> {
  const { context, network, options } = plan.request;
  const [container, isRequired] = await create(plan);
  try {
    // Podman prepares a container when a client attaches to it, and the session's container has to run by then.
    await network.joinable;
    const socket = await attach(context.engine.endpoint.address, container.id);
    try {
      refuseCancelled(options.signal);
      await container.start(timeLimit());
      const root = await openConfirmedRoot(container, plan.held, { openRoot: context.openRoot, isRequired });
      return toSandbox(plan, { container, socket, root });
    } catch (error) {
      socket.destroy();
      throw error;
    }
  } catch (error) {
    await discard(plan.request, container, error);
    throw error;
  }
}

/** Creates the container. Returns true with it if it is refused unless it can be looked into. */
async function create({ body, held, request }: SandboxPlan): Promise<readonly [Docker.Container, boolean]> {
  const name = `budgie-turn-${request.session.slice(0, 8)}-${randomUUID().slice(0, 8)}`;
  const [created, checked] = await Promise.allSettled([
    createContainer(request.context.engine, name, body),
    Promise.all([
      request.decideVisibility(),
      // Checked before the start, when the engine mounts them.
      request.checkMountPoints(held.mounts.map(({ settings }) => settings.target)),
    ]),
  ]);
  if (created.status === "rejected") throw created.reason;
  if (checked.status === "fulfilled") return [created.value, checked.value[0]];
  await discard(request, created.value, checked.reason);
  throw checked.reason;
}

/** Removes an unused container. Throws if the removal is not confirmed. */
async function discard({ context }: SandboxRequest, container: Docker.Container, why: unknown): Promise<void> {
  const { pendingRemovals } = context.engine;
  pendingRemovals.suspect(why);
  await pendingRemovals.remove(() => removeContainer(container)).firstAttempt;
}

function toSandbox(
  { held, key, keepCovers, networkRun, request }: SandboxPlan,
  launched: Pick<Sandbox, "container" | "root" | "socket">,
): Sandbox {
  const { container, root, socket } = launched;
  const { pendingRemovals } = request.context.engine;
  const removeCovers = keepCovers();
  return {
    ...launched,
    workspacePath: held.workspacePath,
    key,
    async confirm(plan) {
      if (root === undefined || socket.destroyed || networkRun !== plan.networkRun) return false;
      // Its own covers are other files than the plan's, with the same content.
      return confirmMounts({ ...plan.held, mounts: held.mounts }, root).then(
        () => true,
        () => false,
      );
    },
    removeCovers,
    async end() {
      socket.destroy();
      try {
        await pendingRemovals.remove(() => removeContainer(container)).firstAttempt;
      } finally {
        await root?.[Symbol.asyncDispose]();
        await removeCovers();
      }
    },
  };
}

/** Throws `CANCELLED` if a start was cancelled. */
export function refuseCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new BudgieError("CANCELLED", "The turn was cancelled before its agent ran.");
}
