import { setTimeout as sleep } from "node:timers/promises";
import type Docker from "dockerode";
import { timeLimit } from "../engine/time-limits.ts";
import { confirmMounts } from "./confirm-mounts.ts";
import { SANDBOX } from "../sandbox/container-options.ts";
import { LOOK_TIMEOUT_MS, openContainerRoot } from "../container-files/container-root.ts";
import type { ContainerRoot, LookInto } from "../container-files/look-into.ts";
import { movedError } from "../sandbox/mount-sources.ts";
import type { HeldMounts } from "../sandbox/mounts.ts";

export type LookOptions = {
  readonly lookInto: LookInto | undefined;
  /** True if a container that cannot be looked into is refused */
  readonly isRequired: boolean;
};

/**
 * Opens the file system of a container whose agent has not started. Throws `WORKSPACE_INVALID` if its mounts differ from the
 * held sources, or if a required look is impossible.
 */
export async function openConfirmedRoot(
  container: Docker.Container,
  held: HeldMounts,
  { isRequired, lookInto }: LookOptions,
): Promise<ContainerRoot | undefined> {
  const root = await openContainerRoot(container, { lookInto, timeoutMs: isRequired ? LOOK_TIMEOUT_MS : 0 });
  try {
    if (root === undefined && isRequired) throw toUnseen(held);
    const isToBeSeen = root !== undefined && (isRequired || (await showsWorkspace(root)));
    await confirmMounts(held, isToBeSeen ? root : undefined);
    return root;
  } catch (error) {
    await root?.[Symbol.asyncDispose]();
    // No agent starts in a container that has ended, and its exit code has the reason.
    if (await hasEnded(container)) return undefined;
    throw error;
  }
}

// A process that exits loses its mounts before the engine reports its end.
const END_LOOKS = 10;
const BETWEEN_LOOKS_MS = 30;

/** Returns true if a container has ended, or ends within the next moments. */
async function hasEnded(container: Docker.Container): Promise<boolean> {
  for (let looks = 1; (await container.inspect(timeLimit())).State.Running; looks++) {
    if (looks === END_LOOKS) return false;
    await sleep(BETWEEN_LOOKS_MS);
  }
  return true;
}

/** Returns true if the process has the container's mounts: a runtime with a kernel of its own may show another process. */
async function showsWorkspace(root: ContainerRoot): Promise<boolean> {
  return (await root.readMounts()).includes(` ${SANDBOX.workspace} `);
}

function toUnseen({ workspace }: HeldMounts): Error {
  return movedError(
    workspace.path,
    "cannot be seen in its container, so it may be another directory than the checked one",
  );
}
