import { setTimeout as sleep } from "node:timers/promises";
import type Docker from "dockerode";
import { parseMounts } from "@budgie/core/policy";
import { movedError, type HeldMounts } from "@budgie/sandbox/mounts";
import { confirmMounts, type ContainerRoot, type OpenRoot } from "@budgie/sandbox/proc";
import { timeLimit } from "../engine/with-timeout.ts";
import { LOOK_TIMEOUT_MS, openContainerRoot } from "../container-files/open-container-root.ts";

export type LookOptions = {
  readonly openRoot: OpenRoot | undefined;
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
  { isRequired, openRoot }: LookOptions,
): Promise<ContainerRoot | undefined> {
  const root = await openContainerRoot(container, { openRoot, timeoutMs: isRequired ? LOOK_TIMEOUT_MS : 0 });
  try {
    if (root === undefined && isRequired) throw unseen(held);
    const isToBeSeen = root !== undefined && (isRequired || (await showsWorkspace(root, held)));
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
async function showsWorkspace(root: ContainerRoot, { workspacePath }: HeldMounts): Promise<boolean> {
  return parseMounts(await root.readMounts()).some(({ point }) => point === workspacePath);
}

function unseen({ workspace }: HeldMounts): Error {
  return movedError(
    workspace.path,
    "cannot be seen in its container, so it may be another directory than the checked one",
  );
}
