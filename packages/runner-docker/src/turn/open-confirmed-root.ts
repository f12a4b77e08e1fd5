import type Docker from "dockerode";
import { withLimit } from "../engine/time-limits.ts";
import { confirmMounts } from "./confirm-mounts.ts";
import { SANDBOX } from "../sandbox/container-options.ts";
import { PATIENCE_MS } from "../session/engine-visibility.ts";
import { openContainerRoot, type ContainerRoot, type LookInto } from "../container-files/container-root.ts";
import { toMoved } from "../sandbox/mount-sources.ts";
import type { HeldMounts } from "../sandbox/mounts.ts";

export type Sight = {
  readonly lookInto: LookInto | undefined;
  /** Whether a container that cannot be looked into is refused */
  readonly isRequired: boolean;
};

/**
 * Enters a container whose agent has not begun. Throws `WORKSPACE_INVALID` if it has other mounts than the held
 * sources, or if it cannot be looked into and must be.
 */
export async function openConfirmedRoot(
  container: Docker.Container,
  held: HeldMounts,
  { isRequired, lookInto }: Sight,
): Promise<ContainerRoot | undefined> {
  const root = await openContainerRoot(container, { lookInto, patienceMs: isRequired ? PATIENCE_MS : 0 });
  try {
    if (root === undefined && isRequired) throw toUnseen(held);
    const isToBeSeen = root !== undefined && (isRequired || (await showsWorkspace(root)));
    await confirmMounts(held, isToBeSeen ? root : undefined);
    return root;
  } catch (error) {
    await root?.[Symbol.asyncDispose]();
    // No agent begins in a container that has ended, and its exit tells why.
    if (!(await container.inspect(withLimit())).State.Running) return undefined;
    throw error;
  }
}

/** Tells whether the process has the container's mounts: with a kernel of its own, a runtime may show another one. */
async function showsWorkspace(root: ContainerRoot): Promise<boolean> {
  return (await root.readMounts()).includes(` ${SANDBOX.workspace} `);
}

function toUnseen({ workspace }: HeldMounts): Error {
  return toMoved(
    workspace.path,
    "cannot be seen in its container, so it may be another directory than the checked one",
  );
}
